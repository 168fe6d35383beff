// Tests of the leader lock on a real Redis, and without Redis.

import { afterEach, describe, expect, it } from 'vitest';
import { Redis } from '#lib/redis/redis.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { type LeaderLock, noLock, RedisLock } from '../../../jobs/reconcile/leader-lock.ts';
import { type BreakableProxy, startBreakableProxy } from '../../stack/breakable-proxy.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { isRedisThere, redisUrl } from '../../stack/redis.ts';

const redisAnswers = await isRedisThere();

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

it('without Redis: everybody works', async () => {
  expect(await noLock.hold()).toBe(true);
});

it('Redis does not answer: everybody works', async () => {
  const proxy = await startBreakableProxy(redisUrl.replace('redis:', 'http:'));
  await proxy.cut();
  expect(await open(proxy.url.replace('http:', 'redis:'), 1_000).hold()).toBe(true);
});

describe.skipIf(!redisAnswers)('with Redis', () => {
  it('one keeps its turn; released, the other has it', async () => {
    const [one, other] = [open(redisUrl, 10_000), open(redisUrl, 10_000)];
    expect([await one.hold(), await other.hold(), await one.hold()]).toEqual([true, false, true]);
    await one.release();
    expect(await other.hold()).toBe(true);
  });

  it('the holder is gone without a word: another takes its turn when the time is over', async () => {
    const [one, other] = [open(redisUrl, 300), open(redisUrl, 10_000)];
    expect([await one.hold(), await other.hold()]).toEqual([true, false]);
    await pollUntil('the turn to be free', () => other.hold());
    expect(await one.hold()).toBe(false);
  });

  it('a connection that is cut and mended: it goes on', async () => {
    const proxy: BreakableProxy = await startBreakableProxy(redisUrl.replace('redis:', 'http:'));
    const lock = open(proxy.url.replace('http:', 'redis:'), 300);
    const other = open(redisUrl, 10_000);
    expect(await lock.hold()).toBe(true);
    await proxy.cut();
    expect(await lock.hold()).toBe(true);
    await proxy.mend();
    await pollUntil('another to have the turn', () => other.hold());
    await pollUntil('Redis to be asked again', async () => !(await lock.hold()));
    await proxy.stop();
  });
});
