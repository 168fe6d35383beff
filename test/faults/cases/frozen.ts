// Processes that are stopped (SIGSTOP) past every time-out and then continued: nothing is applied twice or too late.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startRedis } from '../../cluster/redis.ts';
import { findPostgresqlBin, findRedisServer } from '../../cluster/requirements.ts';
import type { ServerProcess } from '../../cluster/server-process.ts';
import type { Program } from '../../stack/program.ts';
import { countLateWrites } from '../figures.ts';
import type { Route } from '../history.ts';
import type { LoadOptions } from '../load.ts';
import { outage, underLoad, withoutExecution } from '../outage.ts';
import { scaleResponseTimeouts } from '../response-timeouts.ts';
import type { World, WorldOptions } from '../world.ts';
import type { Case, SetUp } from './case.ts';

/**
 * Time-outs are a quarter of their defaults: response time-outs (writes 90 s, reads 22 s), calls to back ends (20 s) and
 * to the engine (10 s), and the response deadline (25 s). Not scaled: a lock of an Idempotency-Key lasts 60 s and two calls to
 * the engine, so a router is stopped for longer than that.
 */
const scale = 1 / 4;
const writeTimeoutMs = 23_000;
const budgetMs = 6_000;
const lockMs = 65_000;
/** Past a write's response time-out, and past its lock. */
const stoppedMs = { worker: 35_000, router: lockMs + 10_000, redis: 35_000, postgresql: lockMs + 10_000 } as const;
/** Workers that are stopped besides the first. */
const addedWorkers = 5;
/** A write that is applied later than this has been sent to the back end after its task had timed out. */
const lateMs = budgetMs + writeTimeoutMs;

const scaled: WorldOptions = {
  budgetMs,
  secondRouter: true,
  // Circuit breakers would keep requests from what these cases are about.
  router: { BREAKER_BACKEND_MINCALLS: '100000', CONDUCTOR_TIMEOUTMS: '2500' },
  workers: { WORKERS_BACKENDTIMEOUTMS: '5000', CONDUCTOR_TIMEOUTMS: '2500', WORKERS_CONCURRENCY: '24' },
};
const load: LoadOptions = { clients: 4, pauseMs: 200, patchesPerSecond: 1, tokens: false, keyedClients: 4 };

/** Starts a Redis server for the routers and scales response time-outs; `server` is the Redis server of the case. */
async function setUp(engine: { readonly url: string }, onRedis?: (server: ServerProcess) => void): Promise<SetUp> {
  const dir = mkdtempSync(join(tmpdir(), 'service-router-redis-'));
  const redis = await startRedis({ command: findRedisServer() as string, dir });
  onRedis?.(redis.process);
  const restore = await scaleResponseTimeouts(engine.url, scale);
  return {
    router: { REDIS_URL: redis.url },
    async tearDown() {
      redis.process.signal('SIGCONT');
      await redis.process.stop();
      await restore();
      rmSync(dir, { recursive: true });
    },
  };
}

const missing = () => (findRedisServer() === undefined ? 'redis-server (Debian: redis-server)' : undefined);

interface Frozen {
  readonly what: string;
  readonly ms: number;
  readonly spares?: readonly Route[];
  /** Address of the router that is stopped. */
  readonly stops?: string;
  /** Undefined: writes wait in the engine meanwhile, and are rightly applied late. */
  readonly lateMs?: number;
}

/** Stops something under load, continues it, and looks for writes that came too late. */
async function freeze(
  world: World,
  { what, ms, spares, stops, ...judged }: Frozen,
  signal: (name: 'SIGSTOP' | 'SIGCONT') => void,
): Promise<void> {
  await underLoad(world, load, async () => {
    await pause(1_500);
    await outage(world, { what, spares, stops }, async () => {
      signal('SIGSTOP');
      try {
        await pause(ms);
      } finally {
        signal('SIGCONT');
      }
    });
    await pause(3_000);
  });
  if (judged.lateMs === undefined) return;
  const late = countLateWrites(world.events(), judged.lateMs);
  world.expect(late === 0, `${late} writes were applied after their task had timed out`);
}

const signalTo = (program: Program | undefined) => (name: 'SIGSTOP' | 'SIGCONT') => void program?.process.kill(name);

const worker: Case = {
  name: 'worker-frozen',
  tries: 2,
  world: scaled,
  missing,
  setUp: (engine) => setUp(engine),
  async tryOnce(world) {
    const { stack, operations } = world;
    // Each has one poll open, and is handed what is started next.
    const added: Program[] = [];
    while (added.length < addedWorkers) added.push(await stack.addWorkers());
    const stopped = [stack.workers[0], ...added];
    const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
      for (const program of stopped) program?.process.kill(name);
      for (let count = 0; count < 2 * stopped.length && name === 'SIGSTOP'; count++) void operations.put();
    };
    await freeze(world, { what: worker.name, ms: stoppedMs.worker, spares: withoutExecution, lateMs }, signal);
    await Promise.all(stack.workers.splice(-added.length).map((program) => program.stop()));
  },
};

const router: Case = {
  name: 'router-frozen',
  tries: 1,
  world: scaled,
  missing,
  setUp: (engine) => setUp(engine),
  async tryOnce(world) {
    const { second } = world;
    const stops = String(second?.ready['url']);
    await freeze(world, { what: router.name, ms: stoppedMs.router, stops, lateMs }, signalTo(second));
  },
};

let redisServer: ServerProcess | undefined;

const redis: Case = {
  name: 'redis-hung',
  tries: 1,
  world: scaled,
  missing,
  setUp: (engine) => setUp(engine, (server) => (redisServer = server)),
  async tryOnce(world) {
    // Writes with a key need Redis; all others must not notice.
    const spares: Route[] = ['movies', 'token', 'health', 'refused'];
    await freeze(world, { what: redis.name, ms: stoppedMs.redis, spares, lateMs }, (name) => redisServer?.signal(name));
  },
};

const postgresql: Case = {
  name: 'postgresql-hung',
  tries: 1,
  ownServer: 'postgresql',
  world: scaled,
  missing: () =>
    missing() ?? (findPostgresqlBin() === undefined ? 'initdb and postgres (Debian: postgresql)' : undefined),
  setUp: (engine) => setUp(engine),
  async tryOnce(world) {
    const { server } = world.engine;
    const frozen = { what: postgresql.name, ms: stoppedMs.postgresql, spares: withoutExecution };
    await freeze(world, frozen, (name) => server?.signal(name));
  },
};

export const frozenCases: readonly Case[] = [worker, router, redis, postgresql];
