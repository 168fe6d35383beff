// Cases in which processes are stopped (SIGSTOP) for longer than every timeout and then continued: no write may be
// applied twice or too late.

import { setTimeout as pause } from 'node:timers/promises';
import type { Program } from '../../stack/program.ts';
import { withoutExecution } from '../component.ts';
import { countLateWrites } from '../figures.ts';
import type { LoadOptions } from '../load.ts';
import { type Outage, outage } from '../outage.ts';
import type { WorldOptions } from '../start-world.ts';
import type { World } from '../world.ts';
import type { Case } from './case.ts';

/**
 * Timeouts are a quarter of their defaults. The defaults are 90 s (writes) and 22 s (reads) for the response timeouts
 * of tasks, 20 s for calls to back ends, 10 s for calls to the engine, and 25 s for the response deadline. An
 * idempotency lock still lasts 60 s plus the timeouts of two calls to the engine, so a router is stopped for longer
 * than that.
 */
const writeTimeoutMs = 23_000;
const budgetMs = 6_000;
const lockMs = 65_000;
/** How long each process is stopped, in milliseconds: longer than a write's response timeout or an idempotency lock. */
const stoppedMs = { worker: 35_000, router: lockMs + 10_000, redis: 35_000, postgresql: lockMs + 10_000 } as const;
/** Number of additional workers that are stopped. */
const addedWorkers = 5;
/**
 * If a write takes effect more than this many milliseconds after its request, its task had timed out before the worker
 * called the back end.
 */
const lateMs = budgetMs + writeTimeoutMs;

const world: WorldOptions = {
  ...{ budgetMs, routers: 2, redis: true },
  // Circuit breakers would prevent the faults that these cases test.
  router: { BREAKER_BACKEND_MINCALLS: '100000', CONDUCTOR_TIMEOUTMS: '2500' },
  workers: { WORKERS_BACKENDTIMEOUTMS: '5000', CONDUCTOR_TIMEOUTMS: '2500', WORKERS_CONCURRENCY: '24' },
};
const load: LoadOptions = { clients: 4, pauseMs: 200, patchesPerSecond: 1, keyedClients: 4, laterClients: 2 };
const common: Partial<Case> = { load, world, needs: ['redis'] };

type Frozen = Outage & {
  readonly ms: number;
  /** Milliseconds after which a write is late; undefined when writes wait in the engine and may be applied late. */
  readonly lateMs?: number;
};

/** Stops processes, continues them, and checks that no write was applied late. */
async function freeze(
  world: World,
  { ms, lateMs: judged, ...fault }: Frozen,
  signal: (name: 'SIGSTOP' | 'SIGCONT') => void,
): Promise<void> {
  await pause(1_500);
  await outage(world, fault, async () => {
    signal('SIGSTOP');
    try {
      await pause(ms);
    } finally {
      signal('SIGCONT');
    }
  });
  await pause(3_000);
  if (judged === undefined) return;
  const late = countLateWrites(world.events(), judged);
  world.expect(late === 0, `${late} writes were applied after their task had timed out`);
}

const signalTo = (program: Program | undefined) => (name: 'SIGSTOP' | 'SIGCONT') => void program?.process.kill(name);

const worker: Case = {
  name: 'worker-frozen',
  tries: 2,
  ...common,
  async tryOnce(world) {
    const { stack, operations } = world;
    // Each added worker has an open poll, so it gets one of the next tasks.
    const added: Program[] = [];
    while (added.length < addedWorkers) added.push(await stack.addWorkers());
    const stopped = [world.workers[0]?.program(), ...added];
    const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
      for (const program of stopped) program?.process.kill(name);
      for (let count = 0; count < 2 * stopped.length && name === 'SIGSTOP'; count++) void operations.put();
    };
    const frozen = { what: worker.name, kind: 'worker', ms: stoppedMs.worker, spares: withoutExecution };
    await freeze(world, { ...frozen, lateMs }, signal);
    await Promise.all(stack.workers.splice(-added.length).map((program) => program.stop()));
  },
};

const router: Case = {
  name: 'router-frozen',
  tries: 1,
  ...common,
  notJudged: { I6: 'a router itself is stopped' },
  async tryOnce(world) {
    const { stops } = world.component('router', 1);
    const signal = signalTo(world.routers[1]?.program());
    await freeze(world, { what: router.name, kind: 'router', ms: stoppedMs.router, stops, lateMs }, signal);
  },
};

const redis: Case = {
  name: 'redis-hung',
  tries: 1,
  ...common,
  async tryOnce(world) {
    const { breaks, spares, kind } = world.component('Redis');
    const frozen = { what: redis.name, kind, ms: stoppedMs.redis, spares, breaks, lateMs };
    await freeze(world, frozen, (name) => (name === 'SIGSTOP' ? world.redis?.hang() : world.redis?.resume()));
  },
};

const postgresql: Case = {
  name: 'postgresql-hung',
  tries: 1,
  ...common,
  engine: { kind: 'postgresql', ownServer: true },
  needs: ['redis', 'postgresql'],
  async tryOnce(world) {
    const frozen = { what: postgresql.name, ms: stoppedMs.postgresql, spares: withoutExecution };
    await freeze(world, frozen, (name) => world.engine.server?.signal(name));
  },
};

export const frozenCases: readonly Case[] = [worker, router, redis, postgresql];
