// The case in which one back end fails in many ways: requests to the other back ends must not be affected.

import { setTimeout as pause } from 'node:timers/promises';
import { pollUntil } from '../../stack/poll-until.ts';
import { backEndMoods, type BackEndMood } from '../bad-back-end.ts';
import { allOthers } from '../component.ts';
import type { Outcome } from '../operations.ts';
import type { World } from '../world.ts';
import type { Case } from './case.ts';

/** `workers.backEndTimeoutMs`: less than the bad back end takes when it is slow. */
const backEndTimeoutMs = 2_500;

/** Statuses that a client may get besides 504; 503 comes from the circuit breaker or from the back end itself. */
const allowed: Readonly<Record<Exclude<BackEndMood, 'good'>, readonly number[]>> = {
  slow: [503],
  frozen: [503],
  refusing: [502, 503],
  'reset-in-body': [502, 503],
  'burst-of-5xx': [200, 500, 502, 503],
  html: [200],
  'wrong-length': [502, 503],
  '64-mib': [502, 503],
  endless: [502, 503],
};

async function tryMood(world: World, mood: Exclude<BackEndMood, 'good'>): Promise<void> {
  const backEnd = world.badBackEnd;
  const what = `back-end-${mood}`;
  const { sync, patchAt } = world.operations;
  const patch = () => patchAt('/adaptor/666/mock/colleges/666/persons/1', '{"cccid":"X0000001"}');
  world.fault({ what, spares: allOthers, breaks: ['lmsDW'] });
  await backEnd.setMood(mood);
  const end = performance.now() + 4_000;
  const client = async (send: () => Promise<Outcome>) => {
    while (performance.now() < end) {
      world.expectStatus(`${mood}: a request`, await send(), [504, ...allowed[mood]]);
      await pause(100);
    }
  };
  // These clients use less than half of the adaptor tasks that a worker runs concurrently; the rest are left for the
  // healthy colleges.
  await Promise.all([sync, sync, sync, sync, patch, patch, patch].map(client));
  await backEnd.setMood('good');
  world.repaired(what);
  await pollUntil('the data warehouse to serve again', async () => (await sync()).status === 200, {
    timeoutMs: 20_000 * world.slack,
    everyMs: 200,
  });
  await pollUntil('the bad back end to have no open requests', () => backEnd.open === 0);
}

const badMoods: Case = {
  name: 'back-end-in-bad-moods',
  tries: 2,
  world: { budgetMs: 6_000, workers: { WORKERS_BACKENDTIMEOUTMS: String(backEndTimeoutMs) } },
  async tryOnce(world) {
    for (const mood of backEndMoods) if (mood !== 'good') await tryMood(world, mood);
  },
};

export const backEndCases: readonly Case[] = [badMoods];
