// Tests of the limit on guessing secrets at the token endpoint: how many guesses reach the provider, whatever their
// source and speed.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AttemptLimit, TooManyAttemptsError } from '../../../plugins/oauth2/token/attempt-limit.ts';
import type { Attempt } from '../../../plugins/oauth2/token/attempt.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { createManualClock } from './manual-clock.ts';
import { startPluginHost } from './plugin-host.ts';
import { type ProviderStandIn, startProviderStandIn } from './provider-stand-in.ts';

/** Makes the provider accept one secret: `right`. */
function knowOneSecret(provider: ProviderStandIn): void {
  provider.answerToken = ({ headers }) => {
    const [, secret] = Buffer.from(String(headers.authorization).slice(6), 'base64').toString().split(':');
    return secret === 'right'
      ? { status: 200, body: { access_token: 'x', token_type: 'Bearer' } }
      : { status: 401, body: { error: 'invalid_client' } };
  };
}

describe('the token policy', () => {
  let provider: ProviderStandIn;
  let host: Awaited<ReturnType<typeof startPluginHost>>;

  beforeEach(async () => {
    provider = await startProviderStandIn();
    knowOneSecret(provider);
    host = await startPluginHost({
      config: { OAUTH_ISSUER: provider.issuer },
      routes: {
        '/token': { policy: 'token' },
        '/conductor-token': { policy: 'token', parameters: { format: 'conductor' } },
        '/small': { policy: 'token', parameters: { maxFailuresPerClient: 2, maxFailuresPerAddress: 5 } },
      },
    });
  });
  afterEach(async () => {
    await host.stop();
    await provider.stop();
  });

  const ask = (client: string, secret: string, path = '/token') =>
    fetch(host.url + path, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id: client, client_secret: secret }),
    });
  const statuses = async (count: number, client: string, secret: string) =>
    Promise.all(Array.from({ length: count }, async () => (await ask(client, secret)).status));
  const asked = () => provider.received.token.length;

  it('ten wrong secrets → the next attempt is refused: 429 with Retry-After, even for the right secret', async () => {
    for (let index = 0; index < 10; index++) expect((await ask('demo', `wrong-${index}`)).status).toBe(401);
    const limited = await ask('demo', 'right');
    expect(limited.status).toBe(429);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(50);
    expect(Number(limited.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect(limited.headers.get('cache-control')).toBe('no-store');
    expect(await limited.json()).toMatchObject({
      type: '/problems/too-many-requests',
      status: 429,
      error: 'temporarily_unavailable',
    });
    expect(asked()).toBe(10);
    expect((await ask('other', 'right')).status, 'another client is not affected').toBe(200);
  });

  it('200 wrong secrets at once → exactly ten reach the provider', async () => {
    const answers = await statuses(200, 'demo', 'wrong');
    expect(answers.filter((status) => status === 401)).toHaveLength(10);
    expect(answers.filter((status) => status === 429)).toHaveLength(190);
    expect(asked()).toBe(10);
  });

  it('200 right secrets at once → all of them get their token', async () => {
    expect(new Set(await statuses(200, 'demo', 'right'))).toEqual(new Set([200]));
  });

  it('right secrets between wrong ones → do not reset the count', async () => {
    for (let index = 0; index < 10; index++) {
      await ask('demo', 'wrong');
      if (index < 9) expect((await ask('demo', 'right')).status).toBe(200);
    }
    expect((await ask('demo', 'right')).status).toBe(429);
  });

  it('many clients from one address → limited by address, with the limit that the parameter sets', async () => {
    for (let index = 0; index < 5; index++) expect((await ask(`client-${index}`, 'wrong', '/small')).status).toBe(401);
    expect((await ask('client-9', 'right', '/small')).status).toBe(429);
  });

  it('attempts in both formats count together', async () => {
    for (let index = 0; index < 10; index++) await ask('worker', 'wrong');
    const response = await fetch(`${host.url}/conductor-token`, {
      method: 'POST',
      body: JSON.stringify({ keyId: 'worker', keySecret: 'right' }),
    });
    expect(response.status).toBe(429);
  });

  it('an unavailable provider, or a malformed request → does not count as an attempt', async () => {
    provider.behaviour.token = '500';
    for (let index = 0; index < 12; index++) expect((await ask('demo', 'right')).status).toBe(503);
    for (let index = 0; index < 12; index++) expect((await ask('demo', '')).status).toBe(401);
    provider.behaviour.token = 'ok';
    expect((await ask('demo', 'right')).status).toBe(200);
  });
});

describe('AttemptLimit', () => {
  afterEach(() => vi.useRealTimers());

  const attempt = (change: Partial<Attempt> = {}): Attempt => ({
    address: '192.0.2.1',
    clientId: 'demo',
    limits: { perClient: 3, perAddress: 6 },
    ...change,
  });
  const fail = () => Promise.reject(new Error('wrong'));
  const always = () => true;
  const outcome = (limit: AttemptLimit, one: Attempt, action: () => Promise<unknown> = fail) =>
    limit.run(one, action, always).then(
      () => 'right',
      (error: unknown) => (error instanceof TooManyAttemptsError ? 'limited' : 'wrong'),
    );

  it('a minute later → attempts are allowed again', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
    const limit = new AttemptLimit(createManualClock(), () => 1_000);
    for (let index = 0; index < 3; index++) expect(await outcome(limit, attempt())).toBe('wrong');
    expect(await outcome(limit, attempt())).toBe('limited');
    vi.advanceTimersByTime(59_000);
    expect(await outcome(limit, attempt())).toBe('limited');
    vi.advanceTimersByTime(1_001);
    expect(await outcome(limit, attempt())).toBe('wrong');
  });

  it('the clock is set back → Retry-After and the window are at most a minute', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
    const limit = new AttemptLimit(createManualClock(), () => 1_000);
    for (let index = 0; index < 3; index++) await outcome(limit, attempt());
    vi.setSystemTime(Date.now() - 2 * 3_600_000);
    await expect(limit.run(attempt(), fail, always)).rejects.toMatchObject({ retryAfterSeconds: 60 });
    vi.advanceTimersByTime(60_001);
    expect(await outcome(limit, attempt())).toBe('wrong');
  });

  it.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', 'limited'],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', 'wrong'],
    ['::1', '::2', 'limited'],
    ['::ffff:192.0.2.7', '192.0.2.7', 'limited'],
    ['::ffff:192.0.2.7', '::ffff:192.0.2.8', 'wrong'],
    ['192.0.2.7', '192.0.2.8', 'wrong'],
  ])('three failures of %s, then %s → %s', async (first, then, expected) => {
    const limit = new AttemptLimit(createManualClock(), () => 1_000);
    for (let index = 0; index < 3; index++) await outcome(limit, attempt({ address: first }));
    expect(await outcome(limit, attempt({ address: then }))).toBe(expected);
  });

  it('pending attempts that could reach the limit → the next attempt waits until one of them succeeds', async () => {
    const limit = new AttemptLimit(createManualClock(), () => 1_000);
    const open = Array.from({ length: 3 }, () => Promise.withResolvers<undefined>());
    const first = open.map(({ promise }) => outcome(limit, attempt(), () => promise));
    let tried = false;
    const next = outcome(limit, attempt(), async () => {
      tried = true;
    });
    expect(await outcome(limit, attempt({ clientId: 'other' }), async () => undefined)).toBe('right');
    expect(tried).toBe(false);
    open[0]?.resolve(undefined);
    expect(await next).toBe('right');
    open[1]?.reject(new Error('wrong'));
    open[2]?.resolve(undefined);
    expect(await Promise.all(first)).toEqual(['right', 'wrong', 'right']);
  });

  it('pending attempts that never end → the next attempt is refused after the maximum wait', async () => {
    const clock = createManualClock();
    const limit = new AttemptLimit(clock, () => 1_000);
    const never = () => new Promise(() => undefined);
    for (let index = 0; index < 3; index++) void outcome(limit, attempt(), never);
    let result = 'waiting';
    void outcome(limit, attempt()).then((value) => (result = value));
    await pollUntil('the wait to end', () => {
      clock.advance(100);
      return result !== 'waiting';
    });
    expect(result).toBe('limited');
  });
});
