// Cases that kill one or two components under a mixed load, and a case with the same load and no fault.

import { setTimeout as pause } from 'node:timers/promises';
import type { ComponentKind } from '../component.ts';
import type { LoadOptions } from '../load.ts';
import { pick } from '../persons.ts';
import { missingForProduction } from '../production.ts';
import type { WorldOptions } from '../start-world.ts';
import type { World } from '../world.ts';
import type { Case } from './case.ts';

const load: LoadOptions = { clients: 8, pauseMs: 120, patchesPerSecond: 3, keyedClients: 3, laterClients: 3 };
const everything: WorldOptions = {
  ...{ budgetMs: 8_000, redis: true, encrypted: true },
  // Keeps the circuit breaker of a back end closed when workers are killed.
  router: { BREAKER_BACKEND_MINCALLS: '100000' },
  workers: { WORKERS_CONCURRENCY: '24' },
};
/**
 * After the load, a run stops waiting for repairs after `restMs` without progress: messages that a killed engine has
 * not acknowledged return to their queue within two minutes.
 */
const judgedAtRest = { restMs: 180_000, nothingMissing: true } as const;

const killedKinds: readonly ComponentKind[] = ['engine', 'worker', 'router', 'Redis'];
/** Kinds that are killed in turn; the last one exists only when the engine stores its data in Redis. */
const killedInTurn: readonly ComponentKind[] = [...killedKinds, "engine's Redis"];
/** If there are several components of a kind, one kill in this many hits all of them at once. */
const allAtOnceOneIn = 5;

/** Kills each kind of component equally often; the seed determines the pauses and the victims. */
const oneAfterTheOther: Case = {
  name: 'kills-under-load',
  tries: 8,
  load,
  world: everything,
  needs: ['redis'],
  ...judgedAtRest,
  tryOnce: (world) => killInTurn(world, killedInTurn),
};

/** Kills one component, or all components, of the kind that was killed least often. */
async function killInTurn(world: World, kinds: readonly ComponentKind[]): Promise<void> {
  const { random, components } = world;
  const present = kinds.filter((kind) => components.some((component) => component.kind === kind));
  const least = present.toSorted((one, other) => world.killsOf(one) - world.killsOf(other))[0];
  const candidates = components.filter(({ kind }) => kind === least);
  const victims = random.below(allAtOnceOneIn) === 0 ? candidates : [pick(random, candidates)];
  await pause(random.between(200, 1_500));
  await world.killAndRestart(victims, random.between(0, 1_500));
}

const storeKinds: readonly ComponentKind[] = ['engine', "engine's Redis"];

/** Kills the engine and its Redis in turn, and sometimes both at the same moment. */
const engineAndStore: Case = {
  name: 'engine-and-its-redis-killed',
  tries: 6,
  load,
  world: everything,
  needs: ['redis'],
  notOn: { sqlite: 'needs --store redis', postgresql: 'needs --store redis' },
  ...judgedAtRest,
  async tryOnce(world) {
    const { random } = world;
    if (random.below(allAtOnceOneIn) !== 0) return killInTurn(world, storeKinds);
    await pause(random.between(200, 1_500));
    const both = storeKinds.map((kind) => world.component(kind));
    await world.killAndRestart(both, random.between(0, 1_500));
  },
};

/** Every pair of kinds, to be killed at the same moment. */
const pairs = killedKinds.flatMap((one, index) => killedKinds.slice(index + 1).map((other) => [one, other] as const));

const twoAtOnce: Case = {
  name: 'two-faults-at-once',
  tries: pairs.length + 1,
  load,
  world: everything,
  needs: ['redis'],
  ...judgedAtRest,
  async tryOnce(world) {
    const { random, redis } = world;
    const tried = world.kills / 2;
    const pair = pairs[tried];
    await pause(random.between(200, 1_500));
    if (pair !== undefined)
      return world.killAndRestart(
        pair.map((kind) => world.component(kind)),
        random.between(0, 2_000),
      );
    // After the last pair: Redis hangs while the engine is killed.
    world.fault({ what: 'Redis hung', breaks: ['keyed'] });
    redis?.hang();
    await world.killAndRestart([{ ...world.component('engine'), breaks: ['movies', 'adaptor'] }], 1_000);
    redis?.resume();
    world.repaired('Redis hung');
    await world.untilServed({ routes: ['keyed'] });
  },
};

/**
 * The production topology, in which each part is killed once: two engines on PostgreSQL, two routers, Redis, Keycloak
 * and the workers.
 */
const production: Case = {
  name: 'production-topology',
  tries: 10,
  load,
  world: { ...everything, budgetMs: 10_000, routers: 2, production: true },
  engine: { kind: 'postgresql', count: 2, ownServer: true },
  needs: ['redis', 'postgresql'],
  missing: missingForProduction,
  ...judgedAtRest,
  async tryOnce(world) {
    const { random, components } = world;
    const victim = components[world.kills % components.length];
    await pause(random.between(500, 3_000));
    if (victim !== undefined) await world.killAndRestart([victim], random.between(200, 2_000));
  },
};

/** No fault: the baseline for the other cases. */
const quiet: Case = {
  name: 'no-fault',
  tries: 2,
  load: { ...load, clients: 10, pauseMs: 10 },
  world: everything,
  needs: ['redis'],
  notJudged: { I6: 'nothing breaks' },
  tryOnce: () => pause(25_000),
};

export const killCases: readonly Case[] = [oneAfterTheOther, engineAndStore, twoAtOnce, production, quiet];
