// Cases in which a router or a worker exhausts a resource: file descriptors or memory.

import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type ProgramComponent, withoutExecution } from '../component.ts';
import { type Outage, outage, underLoad } from '../outage.ts';
import type { WorldOptions } from '../start-world.ts';
import type { World } from '../world.ts';
import type { Case } from './case.ts';

/**
 * Number of file descriptors that the router may open beyond those that it has open: fewer than its connections to
 * clients, workers and the engine need.
 */
const spareDescriptors = 8;

const routerAway = { I6: 'the router itself is short of resources' };

const descriptorsExhausted: Case = {
  name: 'file-descriptors-exhausted',
  tries: 3,
  notJudged: routerAway,
  async tryOnce(world) {
    const { stack } = world;
    const pid = stack.router.process.pid as number;
    const limit = readdirSync(`/proc/${pid}/fd`).length + spareDescriptors;
    await underLoad(world, { clients: 30, pauseMs: 10 }, () =>
      outage(world, { what: descriptorsExhausted.name, stops: stack.url }, async () => {
        execFileSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:`]);
        await pause(8_000);
        execFileSync('prlimit', ['--pid', String(pid), '--nofile=4096:']);
      }),
    );
    world.expect(stack.router.process.exitCode === null, 'the router ended');
  },
};

/** How long clients request large responses, in milliseconds. */
const pressMs = 10_000;
/** Number of clients that request large responses: together, the responses need more memory than the process has. */
const pressing = 12;

/** Runs clients that each request the largest possible responses, one after the other. */
async function press({ operations }: World): Promise<void> {
  const end = performance.now() + pressMs;
  const client = async () => {
    while (performance.now() < end) {
      const { status } = await operations.big();
      if (status === undefined) await pause(refusedMs);
    }
  };
  await Promise.all(Array.from({ length: pressing }, client));
}

/**
 * Returns options for a world with large responses. These responses take a long time, and their failures must not open
 * the circuit breaker.
 */
const worldWith = ({ router, workers = {} }: Pick<WorldOptions, 'router' | 'workers'>): WorldOptions => ({
  budgetMs: 15_000,
  router: { BREAKER_BACKEND_MINCALLS: '100000', ...router },
  workers,
});

/** Pause of a client whose connection broke or was refused, in milliseconds. */
const refusedMs = 500;

/** Sends requests that crash the victim repeatedly; the victim is restarted each time. */
async function runOutOfMemory(world: World, victim: ProgramComponent, what: Outage): Promise<void> {
  const ends = world.keepRunning(victim);
  const before = ends.length;
  await outage(world, what, () => press(world));
  const outputs = ends.slice(before);
  world.notes.push(`${outputs.length} deaths`);
  world.expect(outputs.length > 0, 'the process did not run out of memory');
  const forMemory = outputs.every((output) => output.includes('heap out of memory'));
  world.expect(forMemory, 'the process died for a reason other than a lack of memory');
}

const routerMemory: Case = {
  name: 'router-memory-limit',
  tries: 3,
  notJudged: routerAway,
  world: worldWith({ router: { NODE_OPTIONS: '--max-old-space-size=72' } }),
  tryOnce: (world) => runOutOfMemory(world, world.routers[0]!, { what: routerMemory.name, stops: world.stack.url }),
};

const workerMemory: Case = {
  name: 'worker-memory-limit',
  tries: 3,
  world: worldWith({ workers: { NODE_OPTIONS: '--max-old-space-size=80' } }),
  tryOnce: (world) => runOutOfMemory(world, world.workers[0]!, { what: workerMemory.name, spares: withoutExecution }),
};

export const limitCases: readonly Case[] = [descriptorsExhausted, routerMemory, workerMemory];
