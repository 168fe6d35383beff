// Tests of each threat (RFC 8725, RFC 9068 section 4, RFC 7515): a forged token is rejected, and a valid token still
// works afterwards.

import { sign } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { pollUntil } from '../../stack/poll-until.ts';
import {
  createKey,
  createToken,
  encode,
  hmac,
  honestClaims,
  honestHeader,
  signature,
  type TokenParts,
} from './forge.ts';
import { startPluginHost } from './plugin-host.ts';
import { type SecuredHost, startSecuredHost } from './secured-host.ts';

const foreignKey = createKey();
const ecKey = createKey('ES256');
const pssKey = createKey('PS256');
const day = 86_400;

let secured: SecuredHost;

beforeAll(async () => {
  secured = await startSecuredHost();
  secured.provider.publish(secured.key, ecKey, pssKey);
  // A token with an unknown key makes the plugin fetch the key set again.
  await secured.call('/any', createToken(ecKey, secured.provider));
});
afterAll(() => secured.stop());

const good = () => secured.token();
const now = () => Math.floor(Date.now() / 1000);
const pem = () => secured.key.publicKey.export({ format: 'pem', type: 'spki' }) as string;
const claims = () => honestClaims(secured.provider);
/** Returns a token with these strings as its header and claims, signed with the valid key. */
const signed = (header: string, payload: string) => {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${signature(input, secured.key)}`;
};
const segments = (token: string) => token.split('.') as [string, string, string];
const withHeader = (header: Record<string, unknown>) => secured.token({ header });
const withClaims = (changed: TokenParts['claims'] & object) => secured.token({ claims: changed });
const reasonOfLast = () => secured.host.contexts.at(-1)?.reason;

/** Expects a refusal for this reason, as RFC 6750 section 3.1 requires. */
async function expectRefused(token: string, reason: string): Promise<void> {
  const { status, headers, body } = await secured.send('/any', ['Authorization', `Bearer ${token}`]);
  expect(reasonOfLast()).toBe(`the access token was refused: ${reason}`);
  expect(status).toBe(401);
  const description = reason === 'expired' ? 'The access token has expired' : 'The access token is not valid';
  expect(headers['www-authenticate']).toBe(
    `Bearer realm="service-router", error="invalid_token", error_description="${description}"`,
  );
  expect(headers['content-type']).toBe('application/problem+json');
  expect(headers['cache-control']).toBe('no-store');
  expect(body).toMatchObject({ type: '/problems/invalid-token', status: 401 });
}

describe('an access token', () => {
  afterEach(async () => {
    expect((await secured.call('/any', good())).status, 'a valid token still works afterwards').toBe(200);
  });

  describe('algorithm (RFC 8725 sections 2.1, 3.1, 3.2)', () => {
    it.each(['none', 'None', 'NONE', 'nOnE', 'none ', ''])('alg "%s" without a signature → refused', async (alg) => {
      await expectRefused(`${encode({ ...honestHeader(secured.key), alg })}.${encode(claims())}.`, 'format');
    });
    it.each(['none', 'None', 'NONE', 'nOnE'])('alg "%s" with a copied signature → refused', async (alg) => {
      const [, , tail] = segments(good());
      await expectRefused(`${encode({ ...honestHeader(secured.key), alg })}.${encode(claims())}.${tail}`, 'algorithm');
    });
    it('HS256 with the public key in PEM as its secret → refused', async () => {
      const input = `${encode({ ...honestHeader(secured.key), alg: 'HS256' })}.${encode(claims())}`;
      await expectRefused(`${input}.${hmac(input, pem())}`, 'algorithm');
    });
    it('HS256 with the public key in DER, or with the modulus, as its secret → refused', async () => {
      const input = `${encode({ ...honestHeader(secured.key), alg: 'HS256' })}.${encode(claims())}`;
      const der = secured.key.publicKey.export({ format: 'der', type: 'spki' });
      await expectRefused(`${input}.${hmac(input, der)}`, 'algorithm');
      await expectRefused(`${input}.${hmac(input, String(secured.key.jwk['n']))}`, 'algorithm');
    });
    it('alg RS256, signed as HS256 with the public key → refused', async () => {
      const input = `${encode(honestHeader(secured.key))}.${encode(claims())}`;
      await expectRefused(`${input}.${hmac(input, pem())}`, 'signature');
    });
    it('PS256 under the kid of an RS256 key, correctly signed → refused, as a key has one algorithm', async () => {
      await expectRefused(createToken({ ...secured.key, alg: 'PS256' }, secured.provider), 'unknown-key');
    });
    it('RS512, correctly signed but not configured → refused', async () => {
      await expectRefused(createToken({ ...secured.key, alg: 'RS512' }, secured.provider), 'algorithm');
    });
    it('ES256 under the kid of an RSA key → refused', async () => {
      await expectRefused(createToken({ ...ecKey, kid: secured.key.kid }, secured.provider), 'unknown-key');
    });
    it('ES256 with a DER signature instead of concatenated r and s → refused', async () => {
      const [head, payload] = segments(createToken(ecKey, secured.provider));
      const der = sign('sha256', Buffer.from(`${head}.${payload}`), ecKey.privateKey).toString('base64url');
      await expectRefused(`${head}.${payload}.${der}`, 'claims');
    });
    it('ES256 with r = s = 0 (CVE-2022-21449) → refused', async () => {
      const [head, payload] = segments(createToken(ecKey, secured.provider));
      await expectRefused(`${head}.${payload}.${Buffer.alloc(64).toString('base64url')}`, 'signature');
    });
    it.each([
      ['alg is missing', undefined],
      ['alg is null', null],
      ['alg is a list', ['RS256']],
      ['alg is a number', 256],
    ])('%s → refused', async (_name, alg) => expectRefused(withHeader({ alg }), 'algorithm'));
    it('ES256 and PS256 of published keys → accepted', async () => {
      expect((await secured.call('/any', createToken(ecKey, secured.provider))).status).toBe(200);
      expect((await secured.call('/any', createToken(pssKey, secured.provider))).status).toBe(200);
    });
  });

  describe('key (RFC 8725 sections 2.2, 3.10; RFC 7515 section 4.1)', () => {
    it('signed by a foreign key under a known kid → refused', async () => {
      await expectRefused(createToken({ ...foreignKey, kid: secured.key.kid }, secured.provider), 'signature');
    });
    it('a foreign key in the header as jwk → refused, under a known and an unknown kid', async () => {
      const header = { jwk: foreignKey.jwk };
      const known = { ...foreignKey, kid: secured.key.kid };
      await expectRefused(createToken(known, secured.provider, { header }), 'signature');
      await expectRefused(createToken(foreignKey, secured.provider, { header }), 'unknown-key');
    });
    it.each(['jku', 'x5u'])('%s that points to a foreign key set → refused, and never fetched', async (member) => {
      const attacker = await startSecuredHost({ key: foreignKey });
      const before = attacker.provider.received.jwks.length;
      const header = { [member]: `${attacker.provider.url}/jwks` };
      await expectRefused(createToken(foreignKey, secured.provider, { header }), 'unknown-key');
      expect(attacker.provider.received.jwks.length).toBe(before);
      await attacker.stop();
    });
    it('jwk, jku, x5u and x5c with a correct signature → ignored, accepted', async () => {
      const header = { jwk: foreignKey.jwk, jku: 'http://127.0.0.1:1/', x5u: 'http://127.0.0.1:1/', x5c: ['AAAA'] };
      expect((await secured.call('/any', withHeader(header))).status).toBe(200);
    });
    it.each([
      '../../../../dev/null',
      '/dev/null',
      "x' UNION SELECT 'secret' --",
      '| sleep 5',
      '__proto__',
      'constructor',
      'toString',
      '\u0000',
      '',
    ])('kid %j → refused', async (kid) => {
      await expectRefused(withHeader({ kid }), 'unknown-key');
    });
    it.each([[undefined], [null], [0], [true], [{}], [['a']]])(
      'kid %j → refused, although the key is known',
      async (kid) => {
        await expectRefused(withHeader({ kid }), 'unknown-key');
      },
    );
    it('kid of 2000 characters → refused', async () => {
      await expectRefused(withHeader({ kid: 'k'.repeat(2000) }), 'unknown-key');
    });
    it('kid as a list whose string form is a known kid → refused', async () => {
      await expectRefused(withHeader({ kid: [secured.key.kid] }), 'unknown-key');
    });
  });

  describe('signature (RFC 7515 section 5.2)', () => {
    it('stripped, with and without the last dot → refused', async () => {
      const [head, payload] = segments(good());
      await expectRefused(`${head}.${payload}.`, 'format');
      await expectRefused(`${head}.${payload}`, 'format');
    });
    it('claims changed under a valid signature → refused', async () => {
      const [head, , tail] = segments(good());
      const changed = encode({ ...claims(), scope: 'sisdata_W conductor_admin' });
      await expectRefused(`${head}.${changed}.${tail}`, 'signature');
    });
    it('one bit flipped → refused', async () => {
      const [head, payload, tail] = segments(good());
      const bytes = Buffer.from(tail, 'base64url');
      bytes[10] = (bytes[10] ?? 0) ^ 1;
      await expectRefused(`${head}.${payload}.${bytes.toString('base64url')}`, 'signature');
    });
    it('signature of another valid token → refused', async () => {
      const [head, payload] = segments(good());
      const [, , tail] = segments(withClaims({ sub: 'other' }));
      await expectRefused(`${head}.${payload}.${tail}`, 'signature');
    });
    it('checked before the claims, so that a forged expired token reveals nothing', async () => {
      const forged = createToken({ ...foreignKey, kid: secured.key.kid }, secured.provider, { claims: { exp: 1 } });
      await expectRefused(forged, 'signature');
    });
  });

  describe('form (RFC 7515 sections 2, 7.1; RFC 8725 section 3.3)', () => {
    it('bytes after the signature → refused', async () => {
      for (const tail of ['=', '==', '.', '.x', '%0a', '\u00a0', '~']) await expectRefused(good() + tail, 'format');
      for (const tail of ['A', 'AA', 'AAAA']) await expectRefused(good() + tail, 'signature');
    });
    it('padding in any segment → refused', async () => {
      const [head, payload, tail] = segments(good());
      await expectRefused(`${head}=.${payload}.${tail}`, 'format');
      await expectRefused(`${head}.${payload}==.${tail}`, 'format');
    });
    it('standard base64 alphabet instead of base64url → refused', async () => {
      const [head, payload, tail] = segments(good());
      await expectRefused(`${head}.${payload}.${tail.slice(0, -2)}+/`, 'format');
    });
    it('another spelling of the same signature bytes → refused, as a token has one spelling', async () => {
      // The last character of 256 encoded bytes has four spare bits.
      const [head, payload, tail] = segments(good());
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
      const respelt = tail.slice(0, -1) + alphabet[alphabet.indexOf(tail.at(-1) ?? '') + 1];
      expect(Buffer.from(respelt, 'base64url').equals(Buffer.from(tail, 'base64url'))).toBe(true);
      await expectRefused(`${head}.${payload}.${respelt}`, 'format');
    });
    it('empty segments, or more or fewer than three → refused', async () => {
      const [head, payload, tail] = segments(good());
      for (const token of ['..', `.${payload}.${tail}`, `${head}..${tail}`, head, `${good()}.${tail}.${tail}`]) {
        await expectRefused(token, 'format');
      }
    });
    it('longer than 8 KiB, correctly signed → refused', async () => {
      await expectRefused(withClaims({ padding: 'x'.repeat(8000) }), 'size');
    });
    it.each(['null', '[]', '"x"', '1', '{', '', '{"alg":"RS256"', "{'alg':'RS256'}", '\ufeff{}'])(
      'header %j → refused',
      async (header) => expectRefused(signed(header, JSON.stringify(claims())), 'format'),
    );
    it.each(['null', '[]', '"x"', '1', 'true', '{', '{"iss":'])(
      'claims %j, correctly signed → refused',
      async (payload) => {
        await expectRefused(signed(JSON.stringify(honestHeader(secured.key)), payload), 'claims');
      },
    );
    it('whitespace inside the JSON → accepted, because it is valid JSON', async () => {
      const pretty = signed(JSON.stringify(honestHeader(secured.key), null, 2), JSON.stringify(claims(), null, 2));
      expect((await secured.call('/any', pretty)).status).toBe(200);
    });
    it.each([
      ['crit with an unknown name', { crit: ['x'], x: 1 }],
      ['crit b64', { crit: ['b64'], b64: true }],
      ['crit empty', { crit: [] }],
      ['crit null', { crit: null }],
      ['b64 false', { b64: false }],
    ])('%s → refused (RFC 7515 section 4.1.11)', async (_name, header) =>
      expectRefused(withHeader(header), 'critical-extension'),
    );
  });

  describe('typ (RFC 9068 section 4, RFC 8725 section 3.11)', () => {
    it.each([
      'JWT',
      'jwt',
      'id_token',
      'dpop+jwt',
      'logout+jwt',
      'application/jwt',
      'at+jwt ',
      'xat+jwt',
      '',
      'absent',
    ])('typ "%s" → refused', async (typ) => expectRefused(withHeader({ typ }), 'type'));
    it.each([[undefined], [null], [1], [['at+jwt']]])('typ %j → refused', async (typ) => {
      await expectRefused(withHeader({ typ }), 'type');
    });
    it.each(['at+jwt', 'AT+JWT', 'application/at+jwt', 'Application/At+Jwt'])('typ "%s" → accepted', async (typ) => {
      expect((await secured.call('/any', withHeader({ typ }))).status).toBe(200);
    });
  });

  describe('lifetime (RFC 7519 sections 4.1.4 to 4.1.6; RFC 9068 section 4)', () => {
    it('exp in the past, beyond the leeway → refused as expired', async () => {
      await expectRefused(withClaims({ exp: now() - 10, iat: now() - 100 }), 'expired');
    });
    it('exp within the leeway → accepted', async () => {
      expect((await secured.call('/any', withClaims({ exp: now() - 2 }))).status).toBe(200);
    });
    it.each([
      ['missing', undefined],
      ['null', null],
      ['a string', '9999999999'],
      ['true', true],
      ['a list', [9999999999]],
      ['an object', {}],
    ])('exp %s → refused', async (_name, exp) => expectRefused(withClaims({ exp }), 'claims'));
    it('exp that is too large for a number (1e999) → refused', async () => {
      const payload = JSON.stringify({ ...claims(), exp: 'X' }).replace('"X"', '1e999');
      await expectRefused(signed(JSON.stringify(honestHeader(secured.key)), payload), 'claims');
    });
    it.each([1e300, 9_999_999_999, 8.64e15])('exp %d: an absurdly long lifetime → refused', async (exp) => {
      await expectRefused(withClaims({ exp }), 'too-long-life');
    });
    it('more than the maximum lifetime between iat and exp → refused, although it expires soon', async () => {
      await expectRefused(withClaims({ iat: now() - 2 * day, exp: now() + 60 }), 'too-long-life');
    });
    it('iat missing, remaining lifetime longer than allowed → refused', async () => {
      await expectRefused(withClaims({ iat: undefined, exp: now() + 2 * day }), 'too-long-life');
    });
    it('exp 0 or negative → refused as expired', async () => {
      await expectRefused(withClaims({ exp: 0 }), 'expired');
      await expectRefused(withClaims({ exp: -1 }), 'expired');
    });
    it('nbf in the future → refused; within the leeway → accepted', async () => {
      await expectRefused(withClaims({ nbf: now() + 60 }), 'not-yet-valid');
      expect((await secured.call('/any', withClaims({ nbf: now() + 3 }))).status).toBe(200);
    });
    it.each([[null], ['0'], [true], [{}]])('nbf %j → refused', async (nbf) => {
      await expectRefused(withClaims({ nbf }), 'claims');
    });
    it('iat in the future → refused', async () => {
      await expectRefused(withClaims({ iat: now() + 60, exp: now() + 120 }), 'not-yet-valid');
    });
    it.each([[null], ['0'], [true]])('iat %j → refused', async (iat) => {
      await expectRefused(withClaims({ iat }), 'claims');
    });
  });

  describe('issuer and audience (RFC 8725 sections 3.8, 3.9)', () => {
    it('iss of another issuer, or almost the configured one → refused', async () => {
      const { issuer } = secured.provider;
      for (const iss of ['https://evil.example', `${issuer}/`, issuer.toUpperCase(), ` ${issuer}`, `${issuer}.evil`]) {
        await expectRefused(withClaims({ iss }), 'issuer');
      }
    });
    it('iss as a list that contains the configured one, null, missing or an object → refused', async () => {
      for (const iss of [[secured.provider.issuer], null, undefined, {}, true]) {
        await expectRefused(withClaims({ iss }), 'issuer');
      }
    });
    it('aud of another service, a part of the configured one, or a string that contains it → refused', async () => {
      for (const aud of ['urn:other', 'urn:tes', 'urn:test2', 'urn:other urn:test', 'URN:TEST', ['urn:other'], []]) {
        await expectRefused(withClaims({ aud }), 'audience');
      }
    });
    it('aud missing, null, an object or a nested list → refused', async () => {
      for (const aud of [undefined, null, {}, { 0: 'urn:test', length: 1 }, [['urn:test']], true]) {
        await expectRefused(withClaims({ aud }), 'audience');
      }
    });
    it('aud as a list that contains the configured one → accepted', async () => {
      expect((await secured.call('/any', withClaims({ aud: ['urn:other', 'urn:test'] }))).status).toBe(200);
    });
  });

  describe('client and scopes', () => {
    it.each([
      [{ client_id: 'a', azp: 'b', sub: 'c' }, 'a'],
      [{ client_id: undefined, azp: 'b', sub: 'c' }, 'b'],
    ])('client from %j → %s', async (changed, clientId) => {
      expect((await secured.call('/any', withClaims(changed))).body['clientId']).toBe(clientId);
    });
    it.each([
      [{ client_id: undefined, azp: undefined, sub: 'demo' }],
      [{ client_id: 7 }],
      [{ client_id: '' }],
      [{ client_id: 'a\nb' }],
      [{ client_id: {} }],
    ])('client from %j → refused', async (changed) => expectRefused(withClaims(changed), 'client'));
    it.each([
      [{ scope: 'one two' }, ['one', 'two']],
      [{ scope: undefined, scp: ['one', 'two'] }, ['one', 'two']],
      [{ scope: undefined, scp: 'one two' }, ['one', 'two']],
      [{ scope: undefined, scopes: ['one', 'two'] }, ['one', 'two']],
      [{ scope: undefined, scopes: 'one  two ' }, ['one', 'two']],
      [{ scope: ['one two'] }, ['one two']],
      [{ scope: undefined }, []],
    ])('scopes from %j → %j', async (changed, scopes) => {
      expect((await secured.call('/any', withClaims(changed))).body['scopes']).toEqual(scopes);
    });
    it.each([[{ scope: 1 }], [{ scope: true }], [{ scope: { sisdata_W: true } }], [{ scope: ['sisdata_W', 1] }]])(
      'scopes from %j → refused',
      async (changed) => expectRefused(withClaims(changed), 'claims'),
    );
    it('a token bound to a key (RFC 9449 section 7.2, RFC 8705) → refused as a bearer token', async () => {
      await expectRefused(withClaims({ cnf: { jkt: 'x' } }), 'sender-constrained');
    });
  });

  it('many unknown keys → at most one fetch of the key set in five seconds', async () => {
    const before = secured.provider.received.jwks.length;
    const startedAt = performance.now();
    const forged = Array.from({ length: 200 }, (_, index) => withHeader({ kid: `made-up-${index}` }));
    const answers = await Promise.all(forged.map((token) => secured.call('/any', token)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    const periods = Math.ceil((performance.now() - startedAt) / 5_000);
    expect(secured.provider.received.jwks.length - before).toBeLessThanOrEqual(periods);
  });
});

describe('what the configuration may change', () => {
  it('oauth.acceptedTypes JWT and absent → both accepted, an ID token type is still refused', async () => {
    const lenient = await startSecuredHost({ config: { OAUTH_ACCEPTEDTYPES: 'at+jwt,JWT,absent' } });
    for (const typ of ['JWT', undefined, 'at+jwt']) {
      expect((await lenient.call('/any', lenient.token({ header: { typ } }))).status).toBe(200);
    }
    expect((await lenient.call('/any', lenient.token({ header: { typ: 'id_token' } }))).status).toBe(401);
    await lenient.stop();
  });

  it.each([
    ['client_id,azp,appid', { azp: undefined, appid: 'entra' }, 'entra'],
    ['sub', { client_id: 'demo', sub: 'subject' }, 'subject'],
  ])('oauth.clientIdClaims %s → the client is the first claim that is present', async (names, changed, clientId) => {
    const other = await startSecuredHost({ config: { OAUTH_CLIENTIDCLAIMS: names } });
    const token = other.token({ claims: { client_id: undefined, ...changed } });
    expect((await other.call('/any', token)).body['clientId']).toBe(clientId);
    await other.stop();
  });

  it('oauth.scopeClaims → the scopes are those of the first claim that is present', async () => {
    const other = await startSecuredHost({ config: { OAUTH_SCOPECLAIMS: 'scope,roles' } });
    const token = (claims: Record<string, unknown>) => other.token({ claims: { roles: ['of', 'roles'], ...claims } });
    expect((await other.call('/any', token({ scope: undefined }))).body['scopes']).toEqual(['of', 'roles']);
    expect((await other.call('/any', token({ scope: 'own' }))).body['scopes']).toEqual(['own']);
    await other.stop();
  });

  it('oauth.clientIdClaims with sub and another claim → does not start: a user could pass for a client', async () => {
    const config = { OAUTH_ISSUER: 'http://127.0.0.1:1', OAUTH_CLIENTIDCLAIMS: 'client_id,sub' };
    await expect(startPluginHost({ config })).rejects.toThrow('oauth.clientIdClaims');
  });

  it('oauth.audience absent → aud is not checked', async () => {
    const open = await startSecuredHost({ config: { OAUTH_AUDIENCE: '' } });
    expect((await open.call('/any', open.token({ claims: { aud: undefined } }))).status).toBe(200);
    await open.stop();
  });

  it.each(['HS256', 'none', 'RS256,HS256', 'rs256', 'EdDSA'])('oauth.algorithms %s → does not start', async (names) => {
    const config = { OAUTH_ISSUER: 'http://127.0.0.1:1', OAUTH_ALGORITHMS: names };
    await expect(startPluginHost({ config })).rejects.toThrow(/oauth\.algorithms has unsupported values: .+/);
  });

  it('oauth.acceptedTypes JWT without oauth.audience → does not start: an ID token would pass', async () => {
    const config = { OAUTH_ISSUER: 'http://127.0.0.1:1', OAUTH_ACCEPTEDTYPES: 'JWT' };
    await expect(startPluginHost({ config })).rejects.toThrow('oauth.audience');
  });

  it('several invalid settings → all of them are named at once', async () => {
    const config = { OAUTH_ALGORITHMS: 'none', OAUTH_INTROSPECTIONURL: 'http://127.0.0.1:1' };
    const failure = startPluginHost({ config });
    await expect(failure).rejects.toThrow(
      /oauth\.issuer.*oauth\.algorithms.*introspectionClientId.*introspectionClientSecret/,
    );
  });

  it('a key that must not verify (use enc, key_ops sign, 1024 bits, oct, no kid) → tokens refused', async () => {
    const key = createKey();
    const weak = createKey('RS256', 1024);
    const secured = await startSecuredHost();
    for (const [change, signer] of [
      [{ use: 'enc' }, key],
      [{ key_ops: ['sign'] }, key],
      [{ alg: 'RSA-OAEP' }, key],
      [{ kid: undefined }, key],
      [{ kty: 'oct', k: 'AAAA' }, key],
      [{}, weak],
    ] as const) {
      const before = secured.provider.received.jwks.length;
      secured.provider.jwks = { keys: [secured.key.jwk, { ...signer.jwk, ...change }] };
      const fresh = await startSecuredHostOn(secured);
      expect((await fresh.call(createToken(signer, secured.provider))).status).toBe(401);
      expect((await fresh.call(secured.token())).status).toBe(200);
      expect(secured.provider.received.jwks.length).toBeGreaterThan(before);
      await fresh.stop();
    }
    await secured.stop();
  });
});

/** Starts another plugin host for the same provider, which loads the currently published keys. */
async function startSecuredHostOn({ provider }: SecuredHost) {
  const host = await startPluginHost({ config: { OAUTH_ISSUER: provider.issuer, OAUTH_AUDIENCE: provider.audience } });
  await pollUntil('the keys to be loaded', async () => (await host.readiness()).length === 0);
  return {
    call: (token: string) => fetch(`${host.url}/any`, { headers: { authorization: `Bearer ${token}` } }),
    stop: () => host.stop(),
  };
}
