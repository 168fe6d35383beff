// A Redis that is away, or comes back without its data.

import { setTimeout as pause } from 'node:timers/promises';
import type { WorldOptions } from '../start-world.ts';
import { underLoad } from '../outage.ts';
import type { Case } from './case.ts';
import { missingRedis } from './kills.ts';

const twoRouters: WorldOptions = { routers: 2, redis: true };
const keyed = { clients: 1, pauseMs: 100, patchesPerSecond: 1, keyedClients: 6 };

const away: Case = {
  name: 'redis-away',
  tries: 3,
  world: twoRouters,
  missing: missingRedis,
  async tryOnce(world) {
    await underLoad(world, keyed, () => world.killAndRestart([world.component('Redis')], 4_000));
  },
};

/** The locks of keys are gone while their requests are under way and are repeated at the other router. */
const dataLost: Case = {
  name: 'redis-data-lost',
  tries: 5,
  world: twoRouters,
  missing: missingRedis,
  async tryOnce(world) {
    await underLoad(world, keyed, async () => {
      await pause(1_000);
      // Its file has the deletion: it starts empty.
      await world.redis?.command('FLUSHALL');
      await world.killAndRestart([world.component('Redis')], 1_500);
    });
  },
};

export const redisCases: readonly Case[] = [away, dataLost];
