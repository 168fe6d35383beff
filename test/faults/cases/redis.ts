// The case in which Redis becomes unavailable and returns without its data.

import { setTimeout as pause } from 'node:timers/promises';
import type { Case } from './case.ts';

/** Requests in progress lose their idempotency locks while clients repeat the same requests at the other router. */
const dataLost: Case = {
  name: 'redis-data-lost',
  tries: 5,
  load: { clients: 3, pauseMs: 300, patchesPerSecond: 1, keyedClients: 6, laterClients: 1 },
  world: { routers: 2, redis: true },
  needs: ['redis'],
  notOn: {
    redis:
      "the router's records of executions are in this Redis, and the router does not find a write whose record was lost",
  },
  async tryOnce(world) {
    await pause(1_000);
    // The append-only file contains the deletion, so Redis starts empty.
    await world.redis?.command('FLUSHALL');
    await world.killAndRestart([world.component('Redis')], 4_000);
  },
};

export const redisCases: readonly Case[] = [dataLost];
