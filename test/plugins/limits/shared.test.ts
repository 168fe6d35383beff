// Tests of limits whose counters several routers share in a real Redis, and of what happens when Redis is unavailable
// or hangs.

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import { Redis } from '#lib/redis/redis.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { createRejectionDelay } from '../../../plugins/limits/rejection-delay.ts';
import { createInFlightPolicy } from '../../../plugins/limits/in-flight.ts';
import { createRateLimitPolicy } from '../../../plugins/limits/rate-limit.ts';
import { createStores, leaseMs } from '../../../plugins/limits/store/create-stores.ts';
import { RedisConcurrencyStore } from '../../../plugins/limits/store/concurrency-store.ts';
import { RedisRateLimitStore } from '../../../plugins/limits/store/rate-limit-store.ts';
import { type BreakableProxy, startBreakableProxy } from '../../stack/breakable-proxy.ts';
import { call } from '../../stack/client.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { type LimitedHost, startLimitedHost } from './host.ts';
import { requires } from '../../run/requirements.ts';
import { type RedisServer, startRedisServer } from '../../stack/redis-server.ts';

const atOnce = createRejectionDelay(0);
const log = createLog('test', 'silent');

it('limits.store = redis without redis.url: the error names the missing key', () => {
  const config = { 'limits.store': 'redis', 'redis.url': undefined } as unknown as Config;
  expect(() => createStores({ config, redis: undefined, addReadinessNotice: () => undefined }, 1_000)).toThrow(
    'limits.store = redis needs redis.url',
  );
});

it('the lease of a permit outlasts the longest request, even on a route with its own deadline', () => {
  const seconds = (n: number) => n * 1_000;
  const config = {
    'router.responseDeadlineMs': seconds(10),
    'router.maxWaitMs': seconds(20),
    'router.requestTimeoutMs': seconds(1),
    'router.responseSendTimeoutMs': seconds(2),
  } as Config;
  const steps = [{ policy: 'workflow', action: { name: 'slowWF', responseDeadlineMs: seconds(180) } }] as never;
  expect(leaseMs(config, [])).toBe(seconds(28));
  expect(leaseMs(config, [{ steps }])).toBe(seconds(188));
});

describe('a limit that two routers share in one Redis', requires('redis'), () => {
  const stops: (() => unknown)[] = [];
  const open = (url: string): Redis => {
    const redis = new Redis(url, log);
    redis.start();
    stops.push(() => redis.stop());
    return redis;
  };
  let server: RedisServer;
  let proxy: BreakableProxy;
  /** Header with a client name that is unique to the test. */
  let headers: Record<string, string>;

  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server?.stop());
  beforeEach(async () => {
    proxy = await startBreakableProxy(server.url);
    headers = { 'x-client': randomUUID() };
  });
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
    await proxy.stop();
  });

  async function startTwo(
    policy: 'rate-limit' | 'in-flight',
    action: object,
    whenRedisIsAway = 'count-alone',
  ): Promise<[LimitedHost, LimitedHost]> {
    const config = {
      'limits.store': 'redis',
      'limits.whenRedisIsAway': whenRedisIsAway,
      'router.responseDeadlineMs': 1_000,
      'router.maxWaitMs': 1_000,
      'router.requestTimeoutMs': 1_000,
      'router.responseSendTimeoutMs': 1_000,
    } as unknown as Config;
    const start = async () => {
      const redis = open(proxy.url);
      const { rateLimits: windows, concurrency: places } = createStores(
        { config, redis, addReadinessNotice: () => undefined },
        leaseMs(config, []),
      );
      const create =
        policy === 'rate-limit'
          ? createRateLimitPolicy(config, windows, atOnce)
          : createInFlightPolicy(config, places, atOnce);
      const host = await startLimitedHost(create, action);
      stops.push(host.stop);
      return host;
    };
    return [await start(), await start()];
  }
  const statusOf = async ({ url }: LimitedHost, path = '/') => (await call(`${url}${path}`, { headers })).status;

  /** Waits until both routers count in Redis, so that requests to one router use up the limit of the other. */
  async function untilShared([one, other]: [LimitedHost, LimitedHost], most: number): Promise<void> {
    await pollUntil('both routers to count in Redis', async () => {
      headers = { 'x-client': randomUUID() };
      const statuses = [];
      for (let n = 0; n <= most; n++) statuses.push(await statusOf(n % 2 === 0 ? one : other));
      return statuses.at(-1) === 429;
    });
    headers = { 'x-client': randomUUID() };
  }

  it('counts requests to both routers together', async () => {
    const hosts = await startTwo('rate-limit', { requests: 3, perSeconds: 30 });
    await untilShared(hosts, 3);
    const [one, other] = hosts;
    expect([await statusOf(one), await statusOf(other), await statusOf(one), await statusOf(other)]).toEqual([
      200, 200, 200, 429,
    ]);
  });

  it('counts the in-flight requests of both routers together and releases their permits', async () => {
    const [one, other] = await startTwo('in-flight', { requests: 1 });
    await pollUntil('both routers to count in Redis', async () => {
      headers = { 'x-client': randomUUID() };
      const held = call(`${one.url}/held`, { headers });
      await pollUntil('the request to be held', () => one.held === 1);
      const status = await statusOf(other);
      one.letGo();
      await held;
      return status === 429;
    });
    await pollUntil('the permit to be free', async () => (await statusOf(other)) === 200);
  });

  it.each(['cut', 'freeze'] as const)(
    'Redis is unavailable (%s): each router counts by itself, and no request waits long',
    async (how) => {
      const hosts = await startTwo('rate-limit', { requests: 2, perSeconds: 30 });
      await untilShared(hosts, 2);
      await proxy[how]();
      const startedAt = performance.now();
      const statuses = await Promise.all(hosts.flatMap((host) => [statusOf(host), statusOf(host), statusOf(host)]));
      expect(statuses.toSorted()).toEqual([200, 200, 200, 200, 429, 429]);
      expect(performance.now() - startedAt, 'the requests take less time than the window').toBeLessThan(25_000);
      await proxy.repair();
      await untilShared(hosts, 2);
    },
  );

  it('Redis is unavailable, and limits.whenRedisIsAway is refuse: returns 503', async () => {
    const [one] = await startTwo('rate-limit', { requests: 2, perSeconds: 30 }, 'refuse');
    await proxy.cut();
    const refused = await call(one.url, { headers });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    expect(refused.json()).toMatchObject({ type: '/problems/limits-unavailable' });
    await proxy.repair();
    await pollUntil('requests to be counted again', async () => (await statusOf(one)) === 200);
  });

  it("frees an unreleased permit, such as a killed router's, when its lease ends", async () => {
    const redis = open(server.url);
    await redis.firstAttempt;
    const key = randomUUID();
    const places = new RedisConcurrencyStore(redis, 3_000);
    expect([await places.acquire(key, 1), await places.acquire(key, 1)]).toEqual([expect.any(Function), null]);
    // On a busy machine, the connection may be given up meanwhile, because Redis seems not to respond.
    const acquire = () => places.acquire(key, 1).catch(() => null);
    await pollUntil('the lease to end', async () => (await acquire()) !== null);
  });

  it('shortens a window that ends too late because the clock of Redis was set back', async () => {
    const redis = open(server.url);
    await redis.firstAttempt;
    const [store, key] = [new RedisRateLimitStore(redis), randomUUID()];
    const window = { requests: 1, seconds: 1 };
    await store.count(key, window);
    const [name = ''] = await redis.run((client) => client.keys(`service-router:rate:*${key}`));
    await redis.run((client) => client.pExpire(name, 2 * 3_600_000));
    const { isAllowed, endsInMs } = await store.count(key, window);
    expect(isAllowed).toBe(false);
    expect(endsInMs).toBeLessThanOrEqual(1_000);
    await pollUntil('the window to end', async () => (await store.count(key, window)).isAllowed, { everyMs: 100 });
  });

  it('stores neither client names nor addresses in Redis', async () => {
    const hosts = await startTwo('rate-limit', { requests: 3, perSeconds: 30 });
    await untilShared(hosts, 3);
    await statusOf(hosts[0]);
    const redis = open(server.url);
    await redis.firstAttempt;
    const keys = await redis.run((client) => client.keys('service-router:rate:*'));
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.filter((key) => key.includes(headers['x-client'] as string) || key.includes('127.0.0.1'))).toEqual([]);
  });
});
