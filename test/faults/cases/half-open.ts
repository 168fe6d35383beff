// Cases in which connections become half-open: those between the router and the engine, the workers or the clients, and
// those between the engine and its database.

import { setTimeout as pause } from 'node:timers/promises';
import { type BreakableProxy, startBreakableProxy } from '../../stack/breakable-proxy.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { allOthers, withoutExecution } from '../component.ts';
import { outage } from '../outage.ts';
import type { World } from '../world.ts';
import type { Case } from './case.ts';

let proxy: BreakableProxy | undefined;

/** Makes all current connections half-open; new connections work. */
async function lose(world: World, what: string, end: 'client' | 'upstream', on = proxy): Promise<void> {
  await pause(1_500);
  await outage(world, { what, spares: withoutExecution }, async () => {
    on?.loseEnd(end);
    await pause(5_000);
  });
}

const engine: Case = {
  name: 'router-to-engine-half-open',
  tries: 3,
  world: { router: { CONDUCTOR_TIMEOUTMS: '3000' } },
  async setUp({ url }) {
    proxy = await startBreakableProxy(url);
    return { router: { CONDUCTOR_URL: proxy.url }, tearDown: () => proxy?.stop() };
  },
  tryOnce: (world) => lose(world, engine.name, 'upstream'),
};

const database: Case = {
  name: 'engine-to-postgresql-half-open',
  tries: 3,
  engine: { kind: 'postgresql', ownServer: true },
  needs: ['postgresql'],
  tryOnce: (world) => lose(world, database.name, 'upstream', world.engine.databaseProxy),
};

/**
 * A worker disappears while the router still holds its polls. The tasks that the router then gives to these polls are
 * lost.
 */
const workers: Case = {
  name: 'workers-vanish',
  tries: 3,
  world: { router: { BREAKER_BACKEND_MINCALLS: '100000' } },
  async tryOnce(world) {
    const between = await startBreakableProxy(world.stack.url);
    const added = await world.stack.addWorkers({ CONDUCTOR_APIURL: `${between.url}/conductor/api` });
    await pause(2_000);
    await lose(world, workers.name, 'client', between);
    await added.stop();
    world.stack.workers.splice(world.stack.workers.indexOf(added), 1);
    await between.stop();
  },
};

/** Clients disappear during a request, without the router noticing. The router must release their resources. */
const clients: Case = {
  name: 'clients-vanish',
  tries: 5,
  async tryOnce(world) {
    const between = await startBreakableProxy(world.stack.url);
    const vanishing = world.operationsAt(between.url);
    world.proxies.backEnds.freezeAnswers();
    const sent = Array.from({ length: 20 }, (_, index) => (index % 4 === 0 ? vanishing.patch() : vanishing.movie()));
    await pause(500);
    // The load's own requests also wait for the back ends.
    world.fault({ what: clients.name, stops: between.url, spares: withoutExecution });
    between.loseEnd('client');
    await pause(3_000);
    world.proxies.backEnds.thaw();
    await Promise.all(sent);
    const closed = () => between.halfOpen === 0;
    const limit = { timeoutMs: 60_000 * world.slack };
    await pollUntil('the router to close abandoned connections', closed, limit).catch(() =>
      world.expect(false, `${between.halfOpen} connections of clients that have gone are still open`),
    );
    world.repaired(clients.name);
    await world.untilServed({ routes: allOthers.filter((route) => route !== 'refused') });
    await between.stop();
  },
};

export const halfOpenCases: readonly Case[] = [engine, database, workers, clients];
