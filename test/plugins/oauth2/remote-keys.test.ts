// Tests of the provider's keys over time: discovery, rotation, revocation, and a provider that is unavailable or sends
// nonsense.

import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { pollUntil } from '../../stack/poll-until.ts';
import { createKey, createToken } from './forge.ts';
import { createManualClock } from './manual-clock.ts';
import { type PluginHost, startPluginHost } from './plugin-host.ts';
import { badBehaviours, startProviderStandIn } from './provider-stand-in.ts';
import { type SecuredHost, type SecuredHostOptions, startSecuredHost } from './secured-host.ts';

const otherKey = createKey();
const hour = 3_600_000;

let stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops) await stop();
  stops = [];
});

/** Starts a secured host with a clock that the test moves, and with functions that wait for its effects. */
async function start(options: Omit<SecuredHostOptions, 'clock'> = {}) {
  const clock = createManualClock();
  const secured = await startSecuredHost({ clock, ...options });
  stops.push(secured.stop);
  const { received } = secured.provider;
  return {
    ...secured,
    clock,
    status: async (token: string) => (await secured.call('/any', token)).status,
    /** Moves the clock and waits until the resulting background fetch has ended. */
    async refresh(ms = 300_000) {
      const before = await fetches(secured);
      clock.advance(ms);
      await pollUntil('a background fetch to end', async () => (await fetches(secured)) > before);
    },
    keyFetches: () => received.jwks.length,
  };
}

/** Returns the number of fetches of the key set that have ended, successful or not. */
async function fetches({ host }: SecuredHost): Promise<number> {
  const { values } = (await host.metrics.getSingleMetric('router_key_set_fetches_total')?.get()) ?? { values: [] };
  return values.reduce((sum, { value }) => sum + value, 0);
}

describe('rotation', () => {
  it('a new key → its first token works after one fetch, the old key keeps working', async () => {
    const { provider, key, status, token, keyFetches } = await start();
    provider.publish(otherKey, key);
    const before = keyFetches();
    expect(await status(createToken(otherKey, provider))).toBe(200);
    expect(await status(token())).toBe(200);
    expect(keyFetches() - before).toBe(1);
  });

  it('many tokens of the new key at once → one fetch for all of them', async () => {
    const { provider, key, status, keyFetches } = await start();
    provider.publish(otherKey, key);
    const before = keyFetches();
    const tokens = Array.from({ length: 50 }, () => createToken(otherKey, provider));
    expect(new Set(await Promise.all(tokens.map(status)))).toEqual(new Set([200]));
    expect(keyFetches() - before).toBe(1);
  });

  it('a key that is no longer published → stops working at the next refresh, even for cached tokens', async () => {
    const { provider, status, token, refresh, host } = await start();
    const known = token();
    expect(await status(known)).toBe(200);
    expect(await status(known)).toBe(200);
    provider.publish(otherKey);
    await refresh();
    expect(await status(known)).toBe(401);
    expect(host.contexts.at(-1)?.reason).toContain('unknown-key');
    expect(await status(createToken(otherKey, provider))).toBe(200);
  });

  it.each([{ keys: [] }, { keys: [{ kid: 'k', kty: 'oct', k: 'AA' }] }, { keys: [{ kid: 1, kty: [] }, null, 'x'] }])(
    'key set %j, without a usable key → 503 even for cached tokens, not ready',
    async (jwks) => {
      const { provider, key, status, token, refresh, host } = await start();
      const known = token();
      expect(await status(known)).toBe(200);
      provider.jwks = jwks;
      await refresh();
      expect(await status(known)).toBe(503);
      expect(host.contexts.at(-1)?.reason).toContain('no key can verify an access token');
      expect(await host.readiness()).toEqual([expect.stringContaining('no key can verify an access token')]);
      provider.behaviour.jwks = '500';
      await refresh(5_000);
      expect(await status(known), 'a later outage does not restore the withdrawn key').toBe(503);
      provider.behaviour.jwks = 'ok';
      provider.publish(otherKey);
      await refresh(5_000);
      expect(await status(createToken(otherKey, provider))).toBe(200);
      expect(await status(known)).toBe(401);
      provider.publish(key);
      await refresh();
      expect(await status(known)).toBe(200);
    },
  );

  it('a provider that restarts and briefly serves an empty key set → its keys work again after 250 ms', async () => {
    const { provider, key, status, token, refresh, host } = await start();
    provider.publish();
    await refresh();
    expect(await host.readiness()).toHaveLength(1);
    provider.publish(key);
    await refresh(250);
    expect(await status(token())).toBe(200);
    expect(await host.readiness()).toEqual([]);
  });

  it('repeated tokens with unknown keys → one fetch in five seconds, and the next fetch afterwards', async () => {
    const { provider, status, clock, keyFetches } = await start();
    const unknown = () => status(createToken({ ...otherKey, kid: randomUUID() }, provider));
    const before = keyFetches();
    for (let index = 0; index < 20; index++) expect(await unknown()).toBe(401);
    expect(keyFetches() - before).toBe(1);
    clock.advance(4_900);
    await unknown();
    expect(keyFetches() - before).toBe(1);
    clock.advance(200);
    await unknown();
    expect(keyFetches() - before).toBe(2);
  });

  it('an unknown key → a key that is published afterwards works within five seconds', async () => {
    const { provider, key, status, clock } = await start();
    await status(createToken({ ...otherKey, kid: 'made-up' }, provider));
    provider.publish(otherKey, key);
    expect(await status(createToken(otherKey, provider))).toBe(401);
    clock.advance(5_000);
    expect(await status(createToken(otherKey, provider))).toBe(200);
  });

  it('no requests → keys are fetched again in the background after oauth.jwksCacheSeconds', async () => {
    const { clock, refresh, keyFetches } = await start({ config: { OAUTH_JWKSCACHESECONDS: '60' } });
    const before = keyFetches();
    clock.advance(59_000);
    expect(keyFetches()).toBe(before);
    await refresh(1_000);
    expect(keyFetches()).toBe(before + 1);
  });
});

describe('a provider that is unavailable or sends nonsense', () => {
  it.each(badBehaviours)('key set: %s → the last good keys keep working, a foreign key does not', async (behaviour) => {
    const { provider, key, status, token, refresh, host } = await start();
    const known = token();
    expect(await status(known)).toBe(200);
    provider.behaviour.jwks = behaviour;
    provider.publish(otherKey);
    await refresh();
    expect(await status(known)).toBe(200);
    expect(await status(token())).toBe(200);
    expect(await host.readiness()).toEqual([]);
    expect(await status(createToken({ ...otherKey, kid: 'made-up' }, provider))).toBe(503);
    expect(await status(createToken({ ...otherKey, kid: key.kid }, provider))).toBe(401);
    provider.behaviour.jwks = 'ok';
    await refresh(5_000);
    expect(await status(createToken(otherKey, provider))).toBe(200);
    expect(await status(known)).toBe(401);
  });

  it.each([{ keys: {} }, { keys: null }, {}, [], 'x', null])(
    'key set %j → refused, the last good keys keep working',
    async (jwks) => {
      const { provider, status, token, refresh } = await start();
      provider.jwks = jwks;
      await refresh();
      expect(await status(token())).toBe(200);
    },
  );

  it('a key set with one usable key among broken ones → the usable key is used', async () => {
    const { provider, status, refresh } = await start();
    provider.jwks = { keys: [null, 1, {}, { kid: 'x', kty: 'RSA', n: '!', e: [] }, { kty: 'EC' }, otherKey.jwk] };
    await refresh();
    expect(await status(createToken(otherKey, provider))).toBe(200);
  });

  it('a key set of more than 100 keys → refused', async () => {
    const { provider, status, token, refresh } = await start();
    provider.publish(...Array.from({ length: 101 }, () => otherKey));
    await refresh();
    expect(await status(token())).toBe(200);
  });

  it('unavailable for 24 hours → the last good keys expire: 503, not ready; recovers within 5 s', async () => {
    const { provider, status, token, refresh, clock, host } = await start();
    const known = token({ claims: { exp: provider.nowSeconds() + 80_000 } });
    expect(await status(known)).toBe(200);
    provider.behaviour.jwks = '500';
    await refresh();
    clock.advance(23 * hour - 300_000);
    expect(await status(token())).toBe(200);
    clock.advance(1 * hour);
    expect(await status(token())).toBe(503);
    expect(await status(known)).not.toBe(200);
    expect((await host.readiness()).join()).toContain('keys of the identity provider are not loaded');
    provider.behaviour.jwks = 'ok';
    clock.advance(5_000);
    expect(await status(token())).toBe(200);
    expect(await host.readiness()).toEqual([]);
  });

  it('fetches again within five seconds while the provider is unavailable, and warns once', async () => {
    const { provider, refresh, host } = await start();
    provider.behaviour.jwks = '500';
    await refresh();
    for (let index = 0; index < 5; index++) await refresh(5_000);
    expect(host.logLines.filter((line) => line.includes('cannot be fetched'))).toHaveLength(1);
    provider.behaviour.jwks = 'ok';
    await refresh(5_000);
    expect(host.logLines.some((line) => line.includes('can be fetched again'))).toBe(true);
  });
});

describe('a provider that is unavailable at the start', () => {
  it.each(badBehaviours)('metadata: %s → 503 and not ready, then ready without a restart', async (behaviour) => {
    const clock = createManualClock();
    const provider = await startProviderStandIn({ nowSeconds: () => clock.wallMs() / 1000 });
    provider.publish(otherKey);
    provider.behaviour.metadata = behaviour;
    const config = { OAUTH_ISSUER: provider.issuer, OAUTH_AUDIENCE: provider.audience, OAUTH_TIMEOUTMS: '300' };
    const host = await startPluginHost({ config, clock });
    stops.push(host.stop, provider.stop);
    const answer = await get(host, createToken(otherKey, provider));
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(await answer.json()).toMatchObject({
      type: '/problems/identity-provider-unavailable',
      status: 503,
    });
    expect(await host.readiness()).toHaveLength(1);
    expect((await get(host, 'malformed')).status).toBe(401);
    provider.behaviour.metadata = 'ok';
    await pollUntil('the plugin to be ready', async () => {
      clock.advance(250);
      return (await host.readiness()).length === 0;
    });
    expect((await get(host, createToken(otherKey, provider))).status).toBe(200);
  });
});

describe('discovery (OpenID Connect Discovery section 4, RFC 8414 section 3)', () => {
  it.each([
    ['openid', ''],
    ['openid', '/realms/x'],
    ['rfc8414', ''],
    ['rfc8414', '/realms/x'],
    ['openid', '/'],
  ] as const)('metadata at the path of %s, issuer path "%s" → found', async (serves, issuerPath) => {
    const { status, token } =
      issuerPath === '/' ? await startWithTrailingSlash() : await start({ provider: { serves, issuerPath } });
    expect(await status(token())).toBe(200);
  });

  async function startWithTrailingSlash() {
    const provider = await startProviderStandIn();
    provider.publish(otherKey);
    provider.metadata = { issuer: `${provider.url}/` };
    const issuer = `${provider.url}/`;
    const host = await startPluginHost({ config: { OAUTH_ISSUER: issuer, OAUTH_AUDIENCE: provider.audience } });
    stops.push(host.stop, provider.stop);
    await pollUntil('the plugin to be ready', async () => (await host.readiness()).length === 0);
    return {
      status: async (token: string) => (await get(host, token)).status,
      token: () => createToken(otherKey, { ...provider, issuer }),
    };
  }

  it.each<[string, Record<string, unknown>]>([
    ['another issuer', { issuer: 'https://evil.example' }],
    ['almost the issuer', { issuer: 'SAME/' }],
    ['no issuer', { issuer: undefined }],
    ['no jwks_uri', { jwks_uri: undefined }],
    ['a jwks_uri that is a file', { jwks_uri: 'file:///etc/passwd' }],
    ['a jwks_uri that is not a URL', { jwks_uri: ['x'] }],
  ])('metadata with %s → refused', async (_name, metadata) => {
    const provider = await startProviderStandIn();
    provider.publish(otherKey);
    provider.metadata = metadata['issuer'] === 'SAME/' ? { issuer: `${provider.issuer}/` } : metadata;
    const host = await startPluginHost({
      config: { OAUTH_ISSUER: provider.issuer, OAUTH_AUDIENCE: provider.audience },
    });
    stops.push(host.stop, provider.stop);
    expect((await get(host, createToken(otherKey, provider))).status).toBe(503);
    expect((await host.readiness()).join()).toMatch(/the issuer is |jwks_uri is /);
    expect(provider.received.jwks).toHaveLength(0);
  });

  it('oauth.jwksURL and oauth.tokenURL → take precedence, and there is no discovery', async () => {
    const provider = await startProviderStandIn();
    provider.publish(otherKey);
    const host = await startPluginHost({
      config: {
        OAUTH_ISSUER: 'https://issuer.invalid',
        OAUTH_AUDIENCE: provider.audience,
        OAUTH_JWKSURL: `${provider.url}/jwks`,
        OAUTH_TOKENURL: `${provider.url}/token`,
      },
    });
    stops.push(host.stop, provider.stop);
    const token = createToken(otherKey, { ...provider, issuer: 'https://issuer.invalid' });
    expect((await get(host, token)).status).toBe(200);
    expect(provider.received.metadata).toHaveLength(0);
  });
});

describe('time', () => {
  it('a cached token → refused as soon as its leeway has passed', async () => {
    const { clock, status, token, provider } = await start();
    const known = token({ claims: { exp: Math.floor(provider.nowSeconds()) + 60 } });
    expect(await status(known)).toBe(200);
    clock.advance(63_000);
    expect(await status(known)).toBe(200);
    clock.advance(3_000);
    expect(await status(known)).toBe(401);
  });
});

function get(host: PluginHost, token: string): Promise<Response> {
  return fetch(`${host.url}/any`, { headers: { authorization: `Bearer ${token}` } });
}
