// Cases in which a router is killed, or drains, with many requests in flight.

import { setTimeout as pause } from 'node:timers/promises';
import { readCount } from '../../stack/metrics.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import type { ProgramComponent } from '../component.ts';
import { outage } from '../outage.ts';
import type { World } from '../world.ts';
import type { Case } from './case.ts';

const inFlight = 100;

/**
 * Sends reads and writes while the back ends do not respond. Admission control decides how many of them wait for an
 * execution, how many wait for a permit, and how many are rejected immediately.
 */
async function fill(world: World, count: number) {
  const { operations, stack } = world;
  const sent = Array.from({ length: count }, (_, index) =>
    index % 10 === 0 ? operations.patch() : index % 2 === 0 ? operations.put() : operations.movie(),
  );
  const waits = () => readCount(stack.operationsUrl, 'router_completion_waiters');
  // On a slow machine, the adaptive limit admits only a few requests to the engine at once.
  await pollUntil('a quarter of the requests to wait', async () => (await waits()) >= count / 4);
  return sent;
}

const killed: Case = {
  name: 'router-killed-with-100-in-flight',
  tries: 10,
  notJudged: { I6: 'the router itself is away' },
  async tryOnce(world) {
    world.proxies.backEnds.freezeAnswers();
    const sent = await fill(world, inFlight);
    const { stops } = world.component('router');
    await outage(world, { what: killed.name, kind: 'router', stops }, async () => {
      const killedAt = performance.now();
      await world.kill(world.component('router'));
      const outcomes = await Promise.all(sent);
      world.expectWithin(2_000, performance.now() - killedAt, 'connections outlived their router by');
      // Requests that admission control rejected, or whose response deadline passed, had a response before the kill.
      for (const outcome of outcomes) world.expectStatus('a request', outcome, [undefined, 503, 504]);
      world.proxies.backEnds.thaw();
      await world.component('router').start();
    });
  },
};

const drained: Case = {
  name: 'router-drained',
  tries: 10,
  notJudged: { I6: 'the router itself is away' },
  async tryOnce(world) {
    world.proxies.backEnds.freezeAnswers();
    const sent = await fill(world, 40);
    const load = world.startLoad({ clients: 20 });
    const startedAt = performance.now();
    const [router] = world.routers as [ProgramComponent];
    const stopped = router.program().stop();
    world.fault({ what: drained.name, stops: router.stops, breaks: ['movies', 'adaptor'] });
    await pause(500);
    world.proxies.backEnds.thaw();
    for (const outcome of await Promise.all(sent)) world.expectStatus('a request in flight', outcome, [200, 503, 504]);
    world.expect((await stopped) === 0, 'the router did not exit with 0');
    world.expectWithin(5_000, performance.now() - startedAt, 'draining took');
    await load.stop();
    await router.start();
    world.repaired(drained.name);
    await world.untilServed();
  },
};

export const routerCases: readonly Case[] = [killed, drained];
