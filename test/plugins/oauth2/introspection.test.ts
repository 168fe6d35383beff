// Tests of opaque access tokens (RFC 7662): the provider's response decides, and without a response every token is
// refused.

import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pollUntil } from '../../stack/poll-until.ts';
import { Introspection } from '../../../plugins/oauth2/access-token/introspection.ts';
import { createMetrics } from '../../../plugins/oauth2/metrics.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { addressHeader } from './plugin-host.ts';
import { badBehaviours, type ProviderStandIn, startProviderStandIn } from './provider-stand-in.ts';
import { type SecuredHost, startSecuredHost } from './secured-host.ts';

let clock: ManualClock;
let secured: SecuredHost;

beforeEach(async () => {
  clock = createManualClock();
  introspector = await startProviderStandIn({ nowSeconds: () => clock.wallMs() / 1000 });
  await start();
  active({ scope: 'sisdata_W', token_type: 'Bearer' });
});

async function startAgain(config: Record<string, string>): Promise<void> {
  await secured.stop();
  await start(config);
}

async function start(config: Record<string, string> = {}): Promise<void> {
  secured = await startSecuredHost({
    clock,
    config: {
      OAUTH_INTROSPECTIONURL: `${introspector.url}/introspect`,
      OAUTH_INTROSPECTIONCLIENTID: 'router:id',
      OAUTH_INTROSPECTIONCLIENTSECRET: 's p&c%é',
      ...config,
    },
  });
}
let introspector: ProviderStandIn;

afterEach(async () => {
  expect((await secured.call('/any', secured.token())).status, 'a valid JWT still works afterwards').toBe(200);
  await secured.stop();
  await introspector.stop();
});

const answer = (body: unknown, status = 200) => {
  introspector.answerIntrospection = () => ({ status, body });
};
const now = () => Math.floor(clock.wallMs() / 1000);
const asked = () => introspector.received.introspection.length;
const call = (token = 'opaque-token', method = 'GET') => secured.call('/write', token, method);
/** Makes the provider report an active token of the client demo for this router; `claims` override the members. */
const active = (claims: Record<string, unknown>) =>
  answer({ active: true, client_id: 'demo', aud: secured.provider.audience, token_type: 'Bearer', ...claims });

describe('the introspection request (section 2.1)', () => {
  it('sends token and hint in a form, and authenticates by Basic with form-encoded credentials', async () => {
    expect((await call()).status).toBe(200);
    const [{ headers, form } = { headers: {}, form: new URLSearchParams() }] = introspector.received.introspection;
    expect(Object.fromEntries(form)).toEqual({ token: 'opaque-token', token_type_hint: 'access_token' });
    expect(headers['content-type']).toBe('application/x-www-form-urlencoded');
    const basic = Buffer.from(String(headers.authorization).slice('Basic '.length), 'base64').toString();
    expect(basic).toBe('router%3Aid:s+p%26c%25%C3%A9');
  });

  it('a token with characters that bearer tokens cannot contain → refused without introspection', async () => {
    for (const token of ['tok{en', 'a"b', 'a=b', '<x>']) expect((await call(token)).status).toBe(401);
    expect(asked()).toBe(0);
  });

  it('a token longer than 8 KiB → refused without introspection', async () => {
    expect((await call('x'.repeat(8_193))).status).toBe(401);
    expect(asked()).toBe(0);
  });

  it('a JWT → never introspected', async () => {
    expect((await call(secured.token())).status).toBe(200);
    expect((await call('a.b.c')).status).toBe(401);
    expect(asked()).toBe(0);
  });
});

describe('the response (section 2.2)', () => {
  it('active → client and scopes of the response', async () => {
    active({ scope: 'one two', client_id: 'x' });
    expect((await call()).body).toMatchObject({ clientId: 'x', scopes: ['one', 'two'] });
  });

  it('active without the needed scope → 403', async () => {
    active({ scope: 'sisdata_R' });
    expect((await call('opaque-token', 'PATCH')).status).toBe(403);
  });

  it.each([
    ['inactive', { active: false }],
    ['expired', { exp: 1 }],
    ['not yet valid', { nbf: 99_999_999_999 }],
    ['of another issuer', { iss: 'https://evil.example' }],
    ['for another audience', { aud: ['urn:other'] }],
    ['without an audience', { aud: undefined }],
    ['a refresh token', { token_type: 'refresh_token' }],
    ['a refresh token as oidc-provider describes it', { token_type: undefined }],
    ['a refresh token as Ory Hydra describes it', { token_use: 'refresh_token' }],
    ['an access token that requires DPoP', { token_type: 'DPoP' }],
    ['bound to a key of its holder', { cnf: { jkt: 'x' } }],
    ['without a client', { client_id: undefined }],
    ['of a user, without a client', { client_id: undefined, sub: 'demo' }],
    ['with exp as a string', { exp: '99999999999' }],
    ['with scope as an object', { scope: { sisdata_W: true } }],
  ])('%s → 401 invalid_token', async (_name, claims) => {
    active(claims);
    const { status, headers } = await call();
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toContain('error="invalid_token"');
  });

  it('the configured iss and aud, and exp in the future → accepted', async () => {
    active({ iss: secured.provider.issuer, aud: ['x', 'urn:test'], exp: now() + 60, nbf: now() - 5, iat: now() });
    expect((await call()).status).toBe(200);
  });

  it('no audience with oauth.introspectionRequiresAudience=false → accepted; another audience → refused', async () => {
    await startAgain({ OAUTH_INTROSPECTIONREQUIRESAUDIENCE: 'false' });
    active({ aud: undefined });
    expect((await call()).status).toBe(200);
    active({ aud: ['urn:other'] });
    expect((await call('another-token')).status).toBe(401);
  });

  it.each(['access_token', 'access'])('token_type in another case, and with token_use=%s → accepted', async (use) => {
    active({ token_type: 'bearer', token_use: use });
    expect((await call()).status).toBe(200);
  });

  it('without token_type → the log names the configuration key for providers that omit it', async () => {
    active({ token_type: undefined });
    for (const attempt of ['first', 'repeated, from the cache']) {
      expect((await call()).status, attempt).toBe(401);
      expect(secured.host.contexts.at(-1)?.reason, attempt).toMatch(
        /no token_type.*oauth\.introspectionRequiresTokenType=false/,
      );
    }
  });

  it.each([
    ['accepted', 200, {}],
    ['another type is refused', 401, { token_type: 'DPoP' }],
    ['a refresh token that token_use identifies is refused', 401, { token_use: 'refresh_token' }],
  ])('without token_type, and oauth.introspectionRequiresTokenType=false → %s', async (_name, status, claims) => {
    await startAgain({ OAUTH_INTROSPECTIONREQUIRESTOKENTYPE: 'false' });
    active({ token_type: undefined, ...claims });
    expect((await call()).status).toBe(status);
  });

  it('without an audience, and oauth.audience absent → accepted', async () => {
    await startAgain({ OAUTH_AUDIENCE: '' });
    active({ aud: undefined });
    expect((await call()).status).toBe(200);
  });

  it.each([
    ['the string "true"', { active: 'true', client_id: 'demo' }, 200],
    ['1', { active: 1, client_id: 'demo' }, 200],
    ['missing', { client_id: 'demo' }, 200],
    ['true in a list', [{ active: true, client_id: 'demo' }], 200],
    ['true with 401: the provider does not know the router', { active: true, client_id: 'demo' }, 401],
    ['true with 403', { active: true, client_id: 'demo' }, 403],
    ['true with 201', { active: true, client_id: 'demo' }, 201],
  ])('active is %s → 503, never accepted', async (_name, body, status) => {
    answer(body, status);
    expect((await call()).status).toBe(503);
  });
});

describe('the endpoint is unavailable', () => {
  it.each(badBehaviours)('%s → 503 with Retry-After, never 401; works again at once', async (behaviour) => {
    introspector.behaviour.introspection = behaviour;
    const { status, headers, body } = await call();
    expect(status).toBe(503);
    expect(headers['retry-after']).toBe('5');
    expect(headers['www-authenticate']).toBeUndefined();
    expect(body['type']).toBe('/problems/identity-provider-unavailable');
    introspector.behaviour.introspection = 'ok';
    expect((await call()).status).toBe(200);
  });
});

describe('cached results (section 4)', () => {
  it('an active token → cached for 30 seconds, then introspected again: a revoked token is refused', async () => {
    expect((await call()).status).toBe(200);
    answer({ active: false });
    clock.advance(29_900);
    expect((await call()).status).toBe(200);
    expect(asked()).toBe(1);
    clock.advance(200);
    expect((await call()).status).toBe(401);
    expect(asked()).toBe(2);
  });

  it('an active token that expires sooner → cached until then', async () => {
    active({ exp: now() + 10 });
    expect((await call()).status).toBe(200);
    clock.advance(16_000);
    expect((await call()).status).toBe(401);
    expect(asked()).toBe(2);
  });

  it('an inactive token → cached for one second', async () => {
    answer({ active: false });
    expect((await call()).status).toBe(401);
    expect((await call()).status).toBe(401);
    expect(asked()).toBe(1);
    active({});
    clock.advance(1_001);
    expect((await call()).status).toBe(200);
  });

  it('an unusable response → not cached', async () => {
    introspector.behaviour.introspection = '500';
    expect((await call()).status).toBe(503);
    expect((await call()).status).toBe(503);
    expect(asked()).toBe(2);
  });

  it('the same new token 50 times at once → introspected once', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => call()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(asked()).toBe(1);
  });
});

describe('many made-up tokens at once', () => {
  const known = 'known-token';
  const callFrom = (address: string, token: string) =>
    secured.send('/any', ['Authorization', `Bearer ${token}`, addressHeader, address]);

  /** Starts with a token that was active 30 seconds ago; introspections of made-up tokens get no response. */
  beforeEach(async () => {
    await startAgain({ OAUTH_TIMEOUTMS: '60000', OAUTH_TOKENURL: `${introspector.url}/token` });
    const { answerIntrospection } = introspector;
    introspector.answerIntrospection = (request) =>
      request.form.get('token')?.startsWith('made-up')
        ? new Promise<never>(() => undefined)
        : answerIntrospection(request);
    expect((await call(known)).status).toBe(200);
    clock.advance(30_000);
  });

  /**
   * Sends `count` made-up tokens from each address and waits until all but `open` of them are refused.
   * @returns function that ends the open introspections
   */
  async function flood(addresses: readonly string[], count: number, open: number) {
    const askedBefore = asked();
    let refused = 0;
    const calls = addresses.flatMap((address, network) =>
      Array.from({ length: count }, (_, n) => callFrom(address, `made-up-${network}-${n}`).finally(() => refused++)),
    );
    await pollUntil('the others to be refused', () => refused === calls.length - open);
    await pollUntil('the introspections to be open', () => asked() === askedBefore + open);
    return async () => {
      introspector.dropConnections();
      expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([503]));
    };
  }

  it('from one network → at most 24 introspections, 503 at once for the rest, other networks are not affected', async () => {
    const end = await flood(['2001:db8::1', '2001:db8::2'], 40, 24);
    expect((await callFrom('192.0.2.1', 'new-token')).status).toBe(200);
    const count = (result: string) => secured.count('router_access_tokens_checked_total', result);
    expect([await count('busy'), await count('unavailable')]).toEqual([80 - 24, 0]);
    await end();
    expect([await count('busy'), await count('unavailable')]).toEqual([80 - 24, 24]);
  });

  it('from many networks → at most 48 introspections; tokens in use and token requests are not affected', async () => {
    const end = await flood(['192.0.2.1', '192.0.2.2', '192.0.2.3'], 30, 48);
    expect((await callFrom('192.0.2.1', known)).status).toBe(200);
    const form = { grant_type: 'client_credentials', client_id: 'demo', client_secret: 'secret' };
    const body = new URLSearchParams(form).toString();
    const contentType = ['Content-Type', 'application/x-www-form-urlencoded'];
    expect((await secured.send('/token', contentType, { method: 'POST', body })).status).toBe(200);
    await end();
  });

  it('that the provider rejects → tokens in use stay in the cache', async () => {
    const introspected: (string | null)[] = [];
    const introspection = new Introspection({
      ...{ url: introspector.url, clientId: 'router', clientSecret: 'secret', clock },
      ...{ requiresAudience: false, requiresTokenType: false },
      rules: {
        ...{ issuer: introspector.issuer, audience: undefined, clientIdClaims: ['client_id'], scopeClaims: ['scope'] },
        ...{ clockToleranceSeconds: 5, maxTokenSeconds: 3600 },
      },
      metrics: createMetrics(new Registry()),
      http: {
        async request({ body }) {
          const token = new URLSearchParams(body).get('token');
          introspected.push(token);
          return { status: 200, body: Buffer.from(JSON.stringify({ active: token === known, client_id: 'demo' })) };
        },
      },
    });
    await introspection.check(known, '192.0.2.1');
    for (let index = 0; index < 10_000; index++) {
      await expect(introspection.check(`made-up-${index}`, '192.0.2.2')).rejects.toThrow('inactive');
    }
    await introspection.check(known, '192.0.2.1');
    expect(introspected.filter((token) => token === known)).toHaveLength(1);
  });
});
