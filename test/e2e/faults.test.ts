// Runs those cases of `npm run faults` that are quick enough for every run, and checks all invariants except I2.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Case } from '../faults/cases/case.ts';
import { routerCases } from '../faults/cases/router.ts';
import { withDyingWorkers, workerCases } from '../faults/cases/workers.ts';
import { invariants } from '../faults/violation.ts';
import { type Load, lightLoad } from '../faults/load.ts';
import { startWorld } from '../faults/start-world.ts';
import type { World } from '../faults/world.ts';
import { byDepth } from '../run/depth.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { engineOfRun } from './engine-of-run.ts';

/** Factor for time limits, because other tests run at the same time; `npm run faults` checks the real limits. */
const timesJudged = 10;

let world: World;
let load: Load;

beforeAll(async () => {
  world = await startWorld(
    { url: engineOfRun().url },
    {
      budgetMs: 12_000,
      slack: timesJudged,
      // A notification whose worker dies is retried only after a minute; the long runs cover this case.
      patches: false,
      ...withDyingWorkers,
    },
  );
  load = world.startLoad(lightLoad);
});
afterAll(() => world?.stop());

beforeEach(() => world.untilServed());
afterEach(async () => {
  const { engine, engineCalls, backEnds, api } = world.proxies;
  engineCalls.mood = 'pass';
  for (const proxy of [engine, backEnds, api]) await proxy.repair();
});

const named = (name: string) => [...workerCases, ...routerCases].find((each) => each.name === name) as Case;

describe('a killed worker or router violates no invariant', () => {
  const quick = ['worker-killed-between-call-and-report', 'router-killed-with-100-in-flight'];
  const others = ['worker-killed-before-call', 'worker-killed-after-report'];
  it.each([...quick, ...byDepth([], others)])('%s', async (name) => {
    await named(name).tryOnce(world);
    // Removes the complaints, so that each case is judged only by its own.
    expect(world.complaints.splice(0)).toEqual([]);
  });
});

it('every request ends within its response deadline while the engine is frozen', async () => {
  world.proxies.engine.freeze();
  const { movie, put } = world.operations;
  const outcomes = await Promise.all(Array.from({ length: 90 }, (_, index) => (index % 3 === 0 ? put() : movie())));
  await world.proxies.engine.repair();
  expect(outcomes.map(({ status }) => status).filter((status) => status !== 503 && status !== 504)).toEqual([]);
});

it('returns 504 outcome-unknown for a write when the engine returns 500 after starting the workflow', async () => {
  world.proxies.engineCalls.mood = '500-after';
  const { status, problem } = await world.operations.put();
  world.proxies.engineCalls.mood = 'pass';
  expect([status, problem]).toEqual([504, 'outcome-unknown']);
});

it('no invariant was violated, all except I2 were checked, and the router waits for no execution', async () => {
  await world.untilServed();
  await load.stop();
  const { violations, judged } = world.verdict();
  expect(violations).toEqual([]);
  // I2 concerns PATCH requests, and this file sends none.
  expect(invariants.filter((invariant) => judged[invariant] === 0)).toEqual(['I2']);
  // The router keeps following a write whose client received 504 until the write has ended.
  await pollUntil('every wait to end', async () => (await world.levels()).waits === 0);
});
