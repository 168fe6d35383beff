// Tests of a function that runs on request: its runs never overlap, and no request is lost.

import { expect, it } from 'vitest';
import { OneAtATime } from '../../../../gateway/snapshots/reload/one-at-a-time.ts';

/** Creates a runner whose runs last until the test ends them. */
function setUp() {
  const runs: { reason: string; end: () => void }[] = [];
  let running = 0;
  let most = 0;
  const runner = new OneAtATime(async (reason) => {
    most = Math.max(most, ++running);
    await new Promise<void>((end) => runs.push({ reason, end }));
    running -= 1;
  });
  return { runner, runs, most: () => most };
}

/** Resolves when all pending promise callbacks have run. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

it('starts one further run for all requests that arrive during a run', async () => {
  const { runner, runs, most } = setUp();
  const over: string[] = [];
  void runner.request('first').then(() => over.push('first'));
  void runner.request('second').then(() => over.push('second'));
  void runner.request('third').then(() => over.push('third'));
  await settled();
  expect(runs.map(({ reason }) => reason)).toEqual(['first']);
  runs[0]?.end();
  await settled();
  expect(over).toEqual(['first']);
  expect(runs.map(({ reason }) => reason)).toEqual(['first', 'second']);
  runs[1]?.end();
  await runner.idle();
  expect(over).toEqual(['first', 'second', 'third']);
  expect(runs).toHaveLength(2);
  expect(most()).toBe(1);
});

it('runs again when requested after a run', async () => {
  const { runner, runs } = setUp();
  const first = runner.request('first');
  runs[0]?.end();
  await first;
  const second = runner.request('second');
  await settled();
  runs[1]?.end();
  await second;
  expect(runs).toHaveLength(2);
});
