// Tests of known attacks with access tokens on the running router: each is refused, nothing reaches the engine, and a
// valid token still works immediately afterwards. test/plugins/oauth2/jwt-threats.test.ts tests the refusals in detail.

import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createKey,
  createToken,
  encode,
  hmac,
  honestClaims,
  honestHeader,
  type SigningKey,
  signature,
  type TokenMint,
  type TokenParts,
} from '../plugins/oauth2/forge.ts';
import { type HttpResponse, sendFields } from '../plugins/oauth2/secured-host.ts';
import { call, tokenOf } from '../stack/client.ts';
import { issuerKey, keyFileOf } from '../stack/issuer-key.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { startProgram } from '../stack/program.ts';
import { type RecordingProxy, startRecordingProxy } from '../stack/recording-proxy.ts';
import { audience } from '../stack/stack.ts';
import { type AttackedStack, startAttackedStack } from './attacked-stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { byDepth } from '../run/depth.ts';

/** Pause between two fetches of the key set, in seconds. A revoked key may be accepted for this long. */
const cacheSeconds = 2;
const target = '/conductor/api/metadata/taskdefs/movies_intake';
const foreignKey = createKey();
const ecKey = createKey('ES256');

let attacked: AttackedStack;
let attacker: RecordingProxy;
let key: SigningKey;
let mint: TokenMint;

beforeAll(async () => {
  attacked = await startAttackedStack(engineOfRun().url, { OAUTH_JWKSCACHESECONDS: String(cacheSeconds) });
  attacker = await startRecordingProxy(attacked.stack.issuer);
  attacker.answer = { status: 200, body: JSON.stringify({ keys: [foreignKey.jwk] }) };
  key = await issuerKey(attacked.stack);
  mint = { issuer: attacked.stack.issuer, audience, nowSeconds: () => Date.now() / 1000 };
});
afterAll(async () => {
  await attacked?.stop();
  await attacker?.stop();
});

const now = () => Math.floor(Date.now() / 1000);
const operator = (claims: TokenParts['claims'] = {}) => ({ client_id: 'ops', scope: 'conductor_admin', ...claims });
const token = ({ header = {}, claims = {} }: TokenParts = {}) =>
  createToken(key, mint, { header, claims: operator(claims) });
const withHeader = (header: Record<string, unknown>) => token({ header });
const withClaims = (claims: Record<string, unknown>) => token({ claims });
const forged = (parts: TokenParts = {}, by: SigningKey = { ...foreignKey, kid: key.kid }) =>
  createToken(by, mint, { header: parts.header ?? {}, claims: operator(parts.claims) });
const segments = (text: string) => text.split('.') as [string, string, string];
/** Returns a token with any text as header and claims, signed with the provider's own key. */
const signed = (header: string, claims: string) => {
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${signature(input, key)}`;
};
const honest = () => ({
  header: JSON.stringify(honestHeader(key)),
  claims: JSON.stringify({ ...honestClaims(mint), ...operator() }),
});
const unsigned = (alg: string, tail = '') => {
  const claims = { ...honestClaims(mint), ...operator() };
  return `${encode({ ...honestHeader(key), alg })}.${encode(claims)}.${tail}`;
};
const confused = (secret: () => string | Buffer, alg = 'HS256') => {
  const input = `${encode({ ...honestHeader(key), alg })}.${encode(honest().claims)}`;
  return `${input}.${hmac(input, secret())}`;
};
const pem = () => key.publicKey.export({ format: 'pem', type: 'spki' }) as string;
const modulus = () => String(key.jwk['n']);

const url = (path = target) => `${attacked.stack.url}${path}`;
const bearer = (value: string) => ['Authorization', `Bearer ${value}`];

/** Expects that a valid token still works and that only its request reaches the engine. */
async function expectUnharmed(): Promise<void> {
  attacked.engine.requests.length = 0;
  expect((await sendFields(url(), bearer(token()))).status, 'a valid token immediately afterwards').toBe(200);
  expect(attacked.engine.requests.map(({ target: path }) => path)).toEqual(['/api/metadata/taskdefs/movies_intake']);
}

/** Expects that the request was rejected and did not reach the engine. */
function expectRefused(answer: HttpResponse, status = 401): void {
  expect(answer.status).toBe(status);
  expect(attacked.engine.requests).toEqual([]);
  expect(answer.headers['content-type']).toBe('application/problem+json');
  if (status === 401) expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="service-router"/);
}

const attacks: Record<string, Record<string, () => string>> = {
  algorithm: {
    none: () => unsigned('none'),
    None: () => unsigned('None'),
    NONE: () => unsigned('NONE'),
    nOnE: () => unsigned('nOnE'),
    'none with a signature': () => unsigned('none', segments(token())[2]),
    'none with a space': () => unsigned('none ', segments(token())[2]),
    'empty algorithm': () => unsigned('', segments(token())[2]),
    'algorithm missing': () => withHeader({ alg: undefined }),
    'algorithm null': () => withHeader({ alg: null }),
    'algorithm as a list': () => withHeader({ alg: ['RS256'] }),
    'HS256 with the public key in PEM': () => confused(pem),
    'HS256 with the public key without its last line break': () => confused(() => pem().trimEnd()),
    'HS256 with the public key in DER': () => confused(() => key.publicKey.export({ format: 'der', type: 'spki' })),
    'HS256 with the JWK': () => confused(() => JSON.stringify(key.jwk)),
    'HS256 with the modulus': () => confused(modulus),
    'HS256 with an empty secret': () => confused(() => ''),
    'HS384 with the public key': () => confused(pem, 'HS384'),
    'HS256 declared as RS256': () => confused(pem, 'RS256'),
    'PS256 under an RS256 key': () => createToken({ ...key, alg: 'PS256' }, mint, { claims: operator() }),
    'RS512, not configured': () => createToken({ ...key, alg: 'RS512' }, mint, { claims: operator() }),
    'ES256 under an RSA key': () => forged({}, { ...ecKey, kid: key.kid }),
    'ES256 with r = s = 0': () => unsigned('ES256', Buffer.alloc(64).toString('base64url')),
  },
  key: {
    'foreign key': () => forged(),
    'foreign key, kid unknown': () => forged({}, foreignKey),
    'jwk inside': () => forged({ header: { jwk: foreignKey.jwk } }),
    'jwk inside, kid unknown': () => forged({ header: { jwk: foreignKey.jwk } }, foreignKey),
    'jku of the attacker': () => forged({ header: { jku: `${attacker.url}/jwks` } }, foreignKey),
    'jku, kid known': () => forged({ header: { jku: `${attacker.url}/jwks` } }),
    'x5u of the attacker': () => forged({ header: { x5u: `${attacker.url}/cert` } }, foreignKey),
    'x5c inside': () => forged({ header: { x5c: [Buffer.from(pem()).toString('base64')] } }),
    'kid as a path': () => withHeader({ kid: '../../../../dev/null' }),
    'kid as a path, signed with nothing': () => {
      const input = `${encode({ alg: 'HS256', typ: 'at+jwt', kid: '/dev/null' })}.${encode(honest().claims)}`;
      return `${input}.${hmac(input, '')}`;
    },
    'kid as SQL': () => withHeader({ kid: "x' UNION SELECT 'secret' --" }),
    'kid as a command': () => withHeader({ kid: '| sleep 5' }),
    'kid as a URL': () => withHeader({ kid: `${attacker.url}/jwks` }),
    'kid __proto__': () => withHeader({ kid: '__proto__' }),
    'kid constructor': () => withHeader({ kid: 'constructor' }),
    'kid empty': () => withHeader({ kid: '' }),
    'kid missing': () => withHeader({ kid: undefined }),
    'kid null': () => withHeader({ kid: null }),
    'kid 0': () => withHeader({ kid: 0 }),
    'kid as a list': () => withHeader({ kid: [key.kid] }),
    'kid with NUL': () => withHeader({ kid: `${key.kid}\u0000` }),
  },
  signature: {
    stripped: () => segments(token()).slice(0, 2).join('.'),
    'stripped, with the dot kept': () => `${segments(token()).slice(0, 2).join('.')}.`,
    'of another token': () => {
      const [head, payload] = segments(token());
      return `${head}.${payload}.${segments(withClaims({ sub: 'other' }))[2]}`;
    },
    'over other claims': () => {
      const [head, , tail] = segments(createToken(key, mint, { claims: { scope: 'sisdata_R' } }));
      return `${head}.${encode(honest().claims)}.${tail}`;
    },
    'one bit flipped': () => {
      const [head, payload, tail] = segments(token());
      const bytes = Buffer.from(tail, 'base64url');
      bytes[100] = bytes[100]! ^ 1;
      return `${head}.${payload}.${bytes.toString('base64url')}`;
    },
    'bytes after it': () => `${token()}AAAA`,
    'padding after it': () => `${token()}==`,
    'a fourth segment': () => `${token()}.${segments(token())[2]}`,
    'a dot after it': () => `${token()}.`,
    'in the standard base64 alphabet': () => `${token().slice(0, -2)}+/`,
  },
  form: {
    'nothing but dots': () => '..',
    'not a token': () => 'null',
    'JSON instead of base64': () => `${honest().header}.${honest().claims}.x`,
    'a tab inside': () => token().replace('.', '.\t'),
    'header is null': () => signed('null', honest().claims),
    'header is a list': () => signed('[]', honest().claims),
    'claims are null': () => signed(honest().header, 'null'),
    'claims are a list': () => signed(honest().header, '[]'),
    'claims are text': () => signed(honest().header, '"x"'),
    'claims are broken': () => signed(honest().header, '{"iss":'),
    'longer than 8 KiB': () => withClaims({ padding: 'x'.repeat(7_500) }),
    'crit with an unknown name': () => withHeader({ crit: ['x'], x: 1 }),
    'crit with a known name': () => withHeader({ crit: ['exp'], exp: now() + 60 }),
    'crit empty': () => withHeader({ crit: [] }),
    'b64 false': () => withHeader({ crit: ['b64'], b64: false }),
  },
  type: {
    'an ID token': () => token({ header: { typ: 'JWT' }, claims: { aud: audience, nonce: 'n', at_hash: 'x' } }),
    'no typ': () => withHeader({ typ: undefined }),
    'a logout token': () => withHeader({ typ: 'logout+jwt' }),
    'typ as a list': () => withHeader({ typ: ['at+jwt'] }),
  },
  life: {
    expired: () => withClaims({ exp: now() - 60, iat: now() - 120 }),
    'exp 0': () => withClaims({ exp: 0 }),
    'exp missing': () => withClaims({ exp: undefined }),
    'exp null': () => withClaims({ exp: null }),
    'exp true': () => withClaims({ exp: true }),
    'exp as text': () => withClaims({ exp: String(now() + 600) }),
    'exp as a list': () => withClaims({ exp: [now() + 600] }),
    'exp 1e300': () => withClaims({ exp: 1e300 }),
    'exp 1e999': () => signed(honest().header, honest().claims.replace(/"exp":\d+/, '"exp":1e999')),
    'ten years': () => withClaims({ exp: now() + 10 * 365 * 86_400 }),
    'ten years, almost over': () => withClaims({ iat: now() - 10 * 365 * 86_400, exp: now() + 60 }),
    'not yet valid': () => withClaims({ nbf: now() + 600 }),
    'nbf as text': () => withClaims({ nbf: String(now()) }),
    'issued in the future': () => withClaims({ iat: now() + 600 }),
  },
  'issuer and audience': {
    'another issuer': () => withClaims({ iss: 'https://id.example.org' }),
    'issuer with an extra slash': () => withClaims({ iss: `${mint.issuer}/` }),
    'issuer in capitals': () => withClaims({ iss: mint.issuer.toUpperCase() }),
    'issuer as a list': () => withClaims({ iss: [mint.issuer] }),
    'issuer in a list with another issuer': () => withClaims({ iss: ['https://id.example.org', mint.issuer] }),
    'issuer missing': () => withClaims({ iss: undefined }),
    'another audience': () => withClaims({ aud: 'urn:other' }),
    'audience that contains ours': () => withClaims({ aud: `${audience}-2` }),
    'part of our audience': () => withClaims({ aud: audience.slice(0, -1) }),
    'a list without our audience': () => withClaims({ aud: ['urn:other', `${audience}x`] }),
    'our audience in a list in a list': () => withClaims({ aud: [[audience]] }),
    'audience as an object': () => withClaims({ aud: { [audience]: true } }),
    'audience missing': () => withClaims({ aud: undefined }),
    'audience null': () => withClaims({ aud: null }),
  },
  'client and binding': {
    'no client at all': () => withClaims({ client_id: undefined, sub: undefined }),
    'no client, but a subject with the name of a client': () => withClaims({ client_id: undefined, sub: 'ops' }),
    'client as a list': () => withClaims({ client_id: ['ops'] }),
    'client with a line break': () => withClaims({ client_id: 'ops\nadmin' }),
    'bound to a key': () => withClaims({ cnf: { jkt: 'x' } }),
    'scope as an object': () => withClaims({ scope: { conductor_admin: true } }),
    'scope as a number': () => withClaims({ scope: 1 }),
  },
};

describe.each(Object.entries(attacks))('%s', (_family, cases) => {
  it.each(Object.entries(cases))('%s → 401', async (_name, build) => {
    attacked.engine.requests.length = 0;
    const answer = await sendFields(url(), bearer(build()));
    expectRefused(answer);
    await expectUnharmed();
  });
});

it('never fetches a URL named in a token', () => {
  expect(attacker.requests).toEqual([]);
});

describe('scope', () => {
  it.each([
    ['with a longer name', { scope: 'conductor_administrator' }],
    ['with a prefix', { scope: 'xconductor_admin' }],
    ['in capitals', { scope: 'CONDUCTOR_ADMIN' }],
    ['joined by a comma', { scope: 'conductor_admin,other' }],
    ['joined by a tab', { scope: 'other\tconductor_admin' }],
    ['two in one element of a list', { scope: ['other conductor_admin'] }],
    ['as a pattern', { scope: 'conductor_*' }],
    ['only in a later claim', { scope: 'other', scp: 'conductor_admin', scopes: ['conductor_admin'] }],
    ['empty', { scope: '' }],
    ['missing', { scope: undefined }],
    ['in a claim that the router does not read', { scope: undefined, roles: ['conductor_admin'] }],
  ])('%s → 403', async (_name, claims) => {
    attacked.engine.requests.length = 0;
    const answer = await sendFields(url(), bearer(withClaims(claims)));
    expectRefused(answer, 403);
    expect(answer.headers['www-authenticate']).toContain('error="insufficient_scope"');
    await expectUnharmed();
  });

  it.each([
    ['a list', { scope: ['conductor_admin'] }],
    ['scp as text', { scope: undefined, scp: 'other conductor_admin' }],
    ['scp as a list', { scope: undefined, scp: ['conductor_admin'] }],
    ['scopes as text', { scope: undefined, scopes: 'conductor_admin' }],
    ['scopes as a list', { scope: undefined, scopes: ['other', 'conductor_admin'] }],
    ['our audience among others', { aud: ['urn:other', audience] }],
  ])('%s → accepted', async (_name, claims) => {
    expect((await sendFields(url(), bearer(withClaims(claims)))).status).toBe(200);
  });

  it('JSON with white space → accepted', async () => {
    const { header, claims } = honest();
    const pretty = (text: string) => JSON.stringify(JSON.parse(text), null, 2);
    expect((await sendFields(url(), bearer(signed(pretty(header), pretty(claims))))).status).toBe(200);
  });
});

describe('the place of the token', () => {
  const form = ['Content-Type', 'application/x-www-form-urlencoded'];
  it.each<[string, number, () => Promise<HttpResponse>]>([
    ['nowhere', 401, () => sendFields(url(), [])],
    ['in the query', 401, () => sendFields(url(`${target}?access_token=${token()}`), [])],
    ['in a form', 401, () => sendFields(url(), form, { method: 'POST', body: `access_token=${token()}` })],
    ['in a cookie', 401, () => sendFields(url(), ['Cookie', `access_token=${token()}`])],
    ['in Proxy-Authorization', 401, () => sendFields(url(), ['Proxy-Authorization', `Bearer ${token()}`])],
    ['with another scheme', 401, () => sendFields(url(), ['Authorization', `Basic ${token()}`])],
    ['without a scheme', 401, () => sendFields(url(), ['Authorization', token()])],
    ['empty', 400, () => sendFields(url(), ['Authorization', 'Bearer '])],
    ['broken in two by a space', 400, () => sendFields(url(), bearer(token().replace('.', '. ')))],
    ['two in one field', 400, () => sendFields(url(), bearer(`${token()} ${token()}`))],
    ['joined by a comma', 400, () => sendFields(url(), bearer(`${token()}, Bearer ${token()}`))],
    ['in two fields, both valid', 400, () => sendFields(url(), [...bearer(token()), ...bearer(token())])],
    ['in two fields, the second valid', 400, () => sendFields(url(), [...bearer('x'), ...bearer(token())])],
    ['in two letter cases', 400, () => sendFields(url(), [...bearer(token()), 'aUTHORIZATION', `Bearer ${token()}`])],
    ['in X-Authorization too', 400, () => sendFields(url(), [...bearer(token()), 'X-Authorization', token()])],
    ['twice in X-Authorization', 400, () => sendFields(url(), ['X-Authorization', token(), 'X-Authorization', 'x'])],
    ['in a field of 12 KiB', 401, () => sendFields(url(), bearer('x'.repeat(12_288)))],
    ['in a field of 17 KiB', 431, () => sendFields(url(), bearer('x'.repeat(17_408)))],
  ])('%s → %i', async (_name, status, send) => {
    attacked.engine.requests.length = 0;
    expectRefused(await send(), status);
    await expectUnharmed();
  });

  it('X-Authorization where only Authorization is accepted → 401', async () => {
    attacked.engine.requests.length = 0;
    expectRefused(await sendFields(url('/movies/x'), ['X-Authorization', token()]));
  });
});

describe('keys', () => {
  const keyFetches = () => attacked.provider.requests.filter(({ target: path }) => path === '/jwks').length;
  const usable = async (one: string) => (await sendFields(url(), bearer(one))).status;
  const granted = () => tokenOf(attacked.stack.url, 'ops');

  it('many tokens with unknown keys → few fetches of the key set, and valid tokens still work in between', async () => {
    const before = keyFetches();
    const startedAt = performance.now();
    for (let wave = 0; wave < byDepth(2, 20); wave++) {
      const storm = Array.from({ length: 100 }, (_, n) => usable(withHeader({ kid: `made-up-${wave}-${n}` })));
      expect(await usable(token())).toBe(200);
      expect(new Set(await Promise.all(storm))).toEqual(new Set([401]));
    }
    const seconds = (performance.now() - startedAt) / 1000;
    // The key set is fetched in the background every `cacheSeconds`, and on demand at most once every 5 s.
    expect(keyFetches() - before).toBeLessThanOrEqual(2 + seconds / cacheSeconds + seconds / 5);
  });

  it('the provider is unavailable → tokens with a known key work; tokens with an unknown key get 503', async () => {
    const { stack } = attacked;
    const known = token();
    expect(await usable(known)).toBe(200);
    const port = new URL(stack.issuer).port;
    await stack.identityProvider.stop();
    await pollUntil('a fetch of the key set to fail', async () =>
      /router_key_set_fetches_total\{result="(?!ok)/.test((await call(`${stack.operationsUrl}/metrics`)).text),
    );
    expect(await usable(known)).toBe(200);
    expect(await usable(token()), 'a token that was never seen before').toBe(200);
    expect(await usable(withHeader({ kid: 'new' }))).toBe(503);
    await expect(granted()).rejects.toThrow('503');
    stack.identityProvider = await startProgram('dev/identity-provider/main.ts', {
      STATE_DIR: stack.stateDir,
      OAUTH_AUDIENCE: audience,
      IDP_PORT: port,
    });
    expect(await usable(await pollUntil('a token', () => granted().catch(() => undefined)))).toBe(200);
    await expectUnharmed();
  });

  it('accepts tokens of the new key within seconds of a rotation, and still accepts those of the old key', async () => {
    const before = await granted();
    attacked.stack.identityProvider.process.kill('SIGUSR2');
    const after = await pollUntil('a token of a new key', async () => {
      const one = await granted();
      return segments(one)[0] === segments(before)[0] ? undefined : one;
    });
    await pollUntil('the new key to be known', async () => (await usable(after)) === 200, { timeoutMs: 8_000 });
    expect(await usable(before)).toBe(200);
  });

  it('tokens of a withdrawn key stop working within oauth.jwksCacheSeconds', async () => {
    const { stack } = attacked;
    const withdrawn = token();
    expect(await usable(withdrawn)).toBe(200);
    const port = new URL(stack.issuer).port;
    await stack.identityProvider.stop();
    const file = keyFileOf(stack.stateDir);
    const { keys } = JSON.parse(readFileSync(file, 'utf8')) as { keys: { n?: string }[] };
    expect(keys.some(({ n }) => n === key.jwk['n'])).toBe(true);
    writeFileSync(file, JSON.stringify({ keys: keys.filter(({ n }) => n !== key.jwk['n']) }));
    stack.identityProvider = await startProgram('dev/identity-provider/main.ts', {
      STATE_DIR: stack.stateDir,
      OAUTH_AUDIENCE: audience,
      IDP_PORT: port,
    });
    const fetches = keyFetches();
    await pollUntil('the key to be forgotten', async () => (await usable(withdrawn)) === 401, { timeoutMs: 15_000 });
    // The regular fetches, once every oauth.jwksCacheSeconds, dropped the key. At most two were needed, because one may
    // have been in progress.
    expect(keyFetches() - fetches).toBeLessThanOrEqual(2);
    expect(await usable(await granted())).toBe(200);
  });
});
