// A router or a worker at the end of what the machine gives it: file descriptors, memory.

import { type ChildProcess, execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { startLoad } from '../load.ts';
import type { World } from '../world.ts';
import type { Case } from './case.ts';

/** A few more than the router has open: clients, workers and the engine want more. */
const spareDescriptors = 8;

const descriptorsExhausted: Case = {
  name: 'file-descriptors-exhausted',
  tries: 3,
  async tryOnce(world) {
    const { operations, stack } = world;
    const pid = stack.router.process.pid as number;
    const limit = readdirSync(`/proc/${pid}/fd`).length + spareDescriptors;
    world.fault(descriptorsExhausted.name);
    execFileSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:`]);
    const load = startLoad(operations, { clients: 30, pauseMs: 10 });
    await pause(8_000);
    execFileSync('prlimit', ['--pid', String(pid), '--nofile=4096:']);
    world.mended(descriptorsExhausted.name);
    await world.untilServed();
    await load.stop();
    world.expect(stack.router.process.exitCode === null, 'the router ended');
  },
};

/** Asks for answers of 8 MiB until the process has had enough, or has served them all. */
async function bigAnswers(world: World, count: number): Promise<void> {
  const { big } = world.operations;
  await Promise.all(Array.from({ length: count }, big));
}

/** As a supervisor does: what ends is started again. Resolves when `until` is over and the process runs. */
async function keepRunning(
  until: Promise<unknown>,
  running: () => ChildProcess,
  restart: () => Promise<void>,
): Promise<void> {
  let isOver = false;
  const over = until.then(() => void (isOver = true));
  while (!isOver || hasEnded(running())) {
    if (!hasEnded(running())) await Promise.race([over, once(running(), 'exit')]);
    if (hasEnded(running())) await restart();
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

const routerMemory: Case = {
  name: 'router-memory-limit',
  tries: 2,
  world: { router: { NODE_OPTIONS: '--max-old-space-size=160' }, budgetMs: 15_000 },
  async tryOnce(world) {
    const { stack } = world;
    world.fault(routerMemory.name);
    const restart = async () => {
      world.note('the router ended');
      await stack.restartRouter();
    };
    await keepRunning(bigAnswers(world, 24), () => stack.router.process, restart);
    world.mended(routerMemory.name);
    await world.untilServed();
  },
};

const workerMemory: Case = {
  name: 'worker-memory-limit',
  tries: 2,
  world: { workers: { NODE_OPTIONS: '--max-old-space-size=128' }, budgetMs: 15_000 },
  async tryOnce(world) {
    const { stack } = world;
    world.fault(workerMemory.name);
    const first = () => (stack.workers[0] as (typeof stack.workers)[number]).process;
    const restart = async () => {
      world.note('the workers ended');
      await world.killWorkers();
      world.kills -= 1;
      await world.startWorkers();
    };
    await keepRunning(bigAnswers(world, 24), first, restart);
    world.mended(workerMemory.name);
    await world.untilServed();
  },
};

export const limitCases: readonly Case[] = [descriptorsExhausted, routerMemory, workerMemory];
