// Tests of two routers on one engine, where a client waits at one router and the worker polls the other: with Redis,
// without Redis, and when Redis fails.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startCheckedRouter } from '../stack/checked-router.ts';
import { type Caller, callerFor } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import type { Program } from '../stack/program.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { requires } from '../run/requirements.ts';
import { startRedisServer } from '../stack/redis-server.ts';
import { byDepth } from '../run/depth.ts';

let stack: Stack;
let second: Program | undefined;
let atFirst: Caller;
let atSecond: Caller;

beforeAll(async () => {
  stack = await shareStack({ engineUrl: engineOfRun().url });
});
afterEach(async () => {
  await second?.stop();
  second = undefined;
});
afterAll(async () => {
  await stack?.stop();
});

/** Restarts the first router and starts a second one; all workers poll the first. */
async function startRouters(env: Record<string, string>): Promise<void> {
  await stack.router.stop();
  await stack.restartRouter(env);
  second = await startCheckedRouter({ ...stack.routerEnv, ...env });
  atFirst = await callerFor(stack.url);
  atSecond = await callerFor(String(second.ready['url']));
  await pollUntil(
    'both routers to serve',
    async () =>
      (await atFirst('/movies/Casablanca')).status === 200 && (await atSecond('/movies/Casablanca')).status === 200,
  );
}

/** Returns the median duration, in milliseconds, of a request to the router that no worker polls. */
async function medianMs(times = 15): Promise<number> {
  const took: number[] = [];
  for (let n = 0; n < times; n++) {
    const startedAt = performance.now();
    expect((await atSecond('/movies/Metropolis')).status).toBe(200);
    took.push(performance.now() - startedAt);
  }
  return took.sort((a, b) => a - b)[Math.floor(times / 2)] as number;
}

describe('two routers', () => {
  it('without Redis, a request to the router without workers gets its response through fallback reads', async () => {
    await startRouters({});
    expect(await medianMs(byDepth(1, 5)), 'long before the response deadline').toBeLessThan(15_000);
  });

  it(
    'with Redis, responses do not wait for fallback reads; while Redis is down, fallback reads are enough',
    requires('redis'),
    async ({ onTestFinished }) => {
      const redis = await startRedisServer();
      onTestFinished(() => redis.stop());
      await startRouters({ REDIS_URL: redis.url });
      expect(await pollUntil('responses without fallback reads', async () => (await medianMs(7)) < 400)).toBe(true);
      await redis.kill();
      expect((await atSecond('/movies/Metropolis')).status).toBe(200);
      await redis.restart();
      expect(await pollUntil('responses without fallback reads again', async () => (await medianMs(7)) < 400)).toBe(
        true,
      );
    },
  );
});
