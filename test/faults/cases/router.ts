// Routers that die, drain, and processes that are killed at random under load.

import { setTimeout as pause } from 'node:timers/promises';
import { readCount } from '../../stack/metrics.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { startLoad } from '../load.ts';
import { outage, underLoad } from '../outage.ts';
import type { World } from '../world.ts';
import type { Case } from './case.ts';

const inFlight = 100;

/**
 * Some reads and some writes, none of which is answered. All of them are in the router; how many wait for their
 * workflows and how many for a place is admission control's affair.
 */
async function fill(world: World, count: number) {
  const { operations, stack } = world;
  const sent = Array.from({ length: count }, (_, index) =>
    index % 10 === 0 ? operations.patch() : index % 2 === 0 ? operations.put() : operations.movie(),
  );
  const waits = () => readCount(stack.operationsUrl, 'router_completion_waiters');
  // Where the machine is slow the adaptive limit lets only a few into the engine at once.
  await pollUntil('a quarter of them to wait', async () => (await waits()) >= count / 4);
  return sent;
}

const killed: Case = {
  name: 'router-killed-with-100-in-flight',
  tries: 10,
  async tryOnce(world) {
    world.proxies.backEnds.freezeAnswers();
    const sent = await fill(world, inFlight);
    await outage(world, { what: killed.name }, async () => {
      const killedAt = performance.now();
      await world.killRouter();
      const outcomes = await Promise.all(sent);
      world.expect(performance.now() - killedAt < 2_000, 'a connection outlived its router');
      // What admission control had refused was answered before.
      for (const { status } of outcomes) world.expect(status === undefined || status === 503, `answered ${status}`);
      world.proxies.backEnds.thaw();
      await world.stack.restartRouter();
    });
  },
};

const drained: Case = {
  name: 'router-drained',
  tries: 10,
  async tryOnce(world) {
    world.proxies.backEnds.freezeAnswers();
    const sent = await fill(world, 40);
    const load = startLoad(world.operations, { clients: 20 });
    const startedAt = performance.now();
    const stopped = world.stack.router.stop();
    world.fault(drained.name);
    await pause(500);
    world.proxies.backEnds.thaw();
    for (const { status } of await Promise.all(sent))
      world.expect([200, 503, 504].includes(status ?? 0), `in flight, answered ${status}`);
    world.expect((await stopped) === 0, 'the router did not exit with 0');
    const ms = performance.now() - startedAt;
    world.expect(ms < 5_000, `draining took ${Math.round(ms)} ms after its requests were answered`);
    await load.stop();
    await world.stack.restartRouter();
    world.repaired(drained.name);
    await world.untilServed();
  },
};

/** A process at random is ended and started again, about once a second; five times a try, then everything must serve. */
const random: Case = {
  name: 'random-kills-under-load',
  tries: 20,
  world: { budgetMs: 8_000 },
  async tryOnce(world) {
    const killSome = async () => {
      for (let kills = 0; kills < 5; kills++) {
        await pause(300 + Math.random() * 900);
        if (Math.random() < 0.3) {
          await world.killRouter();
          await world.stack.restartRouter();
        } else {
          await world.killWorkers();
          await world.startWorkers();
        }
      }
    };
    await underLoad(world, { clients: 8, patchesPerSecond: 2 }, () => outage(world, { what: random.name }, killSome));
  },
};

/** No fault at all: what the others are compared with. */
const quiet: Case = {
  name: 'no-fault',
  tries: 2,
  world: { budgetMs: 8_000 },
  async tryOnce(world) {
    await underLoad(world, { clients: 10, pauseMs: 10 }, () => pause(25_000));
  },
};

export const routerCases: readonly Case[] = [killed, drained, random, quiet];
