// Tests of the leader lock on a real Redis, and without Redis.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Redis } from '#lib/redis/redis.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { type LeaderLock, noLock, RedisLock } from '../../../jobs/reconcile/leader-lock.ts';
import { type BreakableProxy, startBreakableProxy } from '../../stack/breakable-proxy.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { requires } from '../../run/requirements.ts';
import { findFreePort } from '../../../dev/setup/ports.mjs';
import { type RedisServer, startRedisServer } from '../../stack/redis-server.ts';

const stops: (() => Promise<void>)[] = [];
const open = (url: string, ttlMs: number): LeaderLock => {
  const redis = new Redis(url, createLog('test', 'silent'));
  redis.start();
  const lock = new RedisLock(redis, ttlMs);
  stops.push(
    () => lock.release(),
    () => redis.stop(),
  );
  return lock;
};
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

it('every router holds the lock without Redis', async () => {
  expect(await noLock.hold()).toBe(true);
});

it('every router holds the lock while Redis does not respond', async () => {
  expect(await open(`redis://127.0.0.1:${await findFreePort()}`, 1_000).hold()).toBe(true);
});

describe('with Redis', requires('redis'), () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedisServer();
  });
  afterAll(() => redis?.stop());
  afterEach(() => redis.command('FLUSHALL'));

  it('one router keeps the lock, and another acquires it after its release', async () => {
    const [one, other] = [open(redis.url, 10_000), open(redis.url, 10_000)];
    expect([await one.hold(), await other.hold(), await one.hold()]).toEqual([true, false, true]);
    await one.release();
    expect(await other.hold()).toBe(true);
  });

  it('another router acquires the lock when it expires', async () => {
    const [one, other] = [open(redis.url, 600_000), open(redis.url, 600_000)];
    expect([await one.hold(), await other.hold()]).toEqual([true, false]);
    const [key] = (await redis.command('KEYS', '*:reconciler')) as [string];
    expect(await redis.command('PTTL', key)).toBeGreaterThan(300_000);
    // Expires the lock as if its TTL had passed.
    await redis.command('PEXPIRE', key, '1');
    await pollUntil('the lock to expire', () => other.hold());
    expect(await one.hold()).toBe(false);
  });

  it('the lock works again after a reconnect', async () => {
    const proxy: BreakableProxy = await startBreakableProxy(redis.url);
    const lock = open(proxy.url, 300);
    const other = open(redis.url, 600_000);
    expect(await lock.hold()).toBe(true);
    await proxy.cut();
    expect(await lock.hold()).toBe(true);
    await proxy.repair();
    await pollUntil('the other router to hold the lock', () => other.hold());
    await pollUntil('the first router to lose the lock', async () => !(await lock.hold()));
    await proxy.stop();
  });
});
