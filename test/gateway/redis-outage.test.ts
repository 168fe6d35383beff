// Tests of a router whose Redis hangs: what still works, what it reports, and that it stops.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { pollUntil } from '../stack/poll-until.ts';
import { type RedisServer, startRedisServer } from '../stack/redis-server.ts';
import { type ReloadableRouter, startReloadableRouter } from './snapshots/reload/reloadable-router.ts';
import { requires } from '../run/requirements.ts';

describe('a router whose Redis hangs', requires('redis'), () => {
  let redis: RedisServer;
  let router: ReloadableRouter;
  /** A fake engine that responds only with errors; because it responds, it counts as started. */
  const engine = createServer((_request, response) => response.writeHead(500).end());

  beforeAll(async () => {
    await once(engine.listen(0, '127.0.0.1'), 'listening');
    redis = await startRedisServer();
    router = await startReloadableRouter({
      CONDUCTOR_URL: `http://127.0.0.1:${(engine.address() as AddressInfo).port}`,
      REDIS_URL: redis.url,
      LIMITS_STORE: 'redis',
      LIMITS_REJECTIONDELAYMS: '1',
      RECONCILER_INTERVALMS: '100',
    });
  });
  beforeEach(() => untilUp(1));
  afterEach(() => redis.resume());
  afterAll(async () => {
    await router?.stop();
    await redis?.stop();
    engine.closeAllConnections();
    engine.close();
  });

  const untilUp = (up: 0 | 1) =>
    pollUntil(`router_redis_up to be ${up}`, async () => (await router.counts())['router_redis_up'] === up);
  const countOf = (text: string) => router.program.output().split(text).length - 1;
  /** Returns the number of reconcile rounds, which all fail because of the engine. */
  const rounds = async () => {
    const counts = Object.entries(await router.counts());
    return counts.reduce((sum, [name, n]) => sum + (name.startsWith('router_reconciler_rounds_total') ? n : 0), 0);
  };
  const notices = async () => {
    const response = await fetch(`${String(router.program.ready['operationsUrl'])}/health/ready`);
    return ((await response.json()) as { notices: Record<string, string[]> }).notices;
  };

  it('has one connection for all uses', async () => {
    const clients = String(await redis.command('CLIENT', 'LIST'))
      .trim()
      .split('\n');
    // One of the two connections is the test's own, which sends this command.
    expect(clients).toHaveLength(2);
  });

  it('keeps running reconcile rounds', async () => {
    redis.hang();
    const before = await rounds();
    await pollUntil('three more rounds', async () => (await rounds()) > before + 3);
  });

  it('sends Redis at most one command, and not one for each request', async () => {
    const before = await redis.calls('incrby');
    redis.hang();
    const statuses: number[] = [];
    for (let n = 0; n < 10; n++) statuses.push((await fetch(`${router.url}/counted`)).status);
    redis.resume();
    expect((await redis.calls('incrby')) - before).toBeLessThanOrEqual(1);
    // Meanwhile, the router counts the requests itself.
    expect(statuses).toEqual([200, 200, 200, ...Array<number>(7).fill(429)]);
  });

  it('reports each outage in the log, in a metric and in the readiness notices', async () => {
    // On a busy machine, Redis may seem to hang again; the router then logs both lines again.
    for (let outage = 1; outage <= 2; outage++) {
      const [losses, recoveries] = [countOf('Redis does not respond'), countOf('Redis responds again')];
      redis.hang();
      await untilUp(0);
      expect(await notices()).toMatchObject({
        idempotency: ['Redis does not respond: requests with an Idempotency-Key are refused'],
        limits: ['Redis does not respond: each router counts requests by itself'],
        reconciler: ['Redis does not respond: every router reconciles'],
        'wake-ups': [
          'Redis does not respond: routers notice changes made through other routers only when they next poll the engine',
        ],
      });
      redis.resume();
      await untilUp(1);
      await pollUntil('the notices to end', async () => Object.keys(await notices()).length === 0);
      await pollUntil('the recovery to be logged', () => countOf('Redis responds again') > recoveries);
      expect(countOf('Redis does not respond')).toBeGreaterThan(losses);
    }
  });

  it('stops on SIGTERM', async () => {
    redis.hang();
    const code = router.program.stop();
    await pollUntil('the router to have ended', () => router.program.process.exitCode !== null);
    expect(await code).toBe(0);
  });
});
