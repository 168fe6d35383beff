// Reloads that are asked for at once: never two at a time, and none forgotten.

import { expect, it } from 'vitest';
import { OneAtATime } from '../../../../gateway/snapshots/reload/one-at-a-time.ts';

/** Runs that last until they are let go. */
function setUp() {
  const runs: { reason: string; end: () => void }[] = [];
  let running = 0;
  let most = 0;
  const turns = new OneAtATime(async (reason) => {
    most = Math.max(most, ++running);
    await new Promise<void>((end) => runs.push({ reason, end }));
    running -= 1;
  });
  return { turns, runs, most: () => most };
}

/** Everything that can happen without a timer has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

it('asked twice while it runs: one more run follows, for both', async () => {
  const { turns, runs, most } = setUp();
  const over: string[] = [];
  void turns.ask('first').then(() => over.push('first'));
  void turns.ask('second').then(() => over.push('second'));
  void turns.ask('third').then(() => over.push('third'));
  await settled();
  expect(runs.map(({ reason }) => reason)).toEqual(['first']);
  runs[0]?.end();
  await settled();
  expect(over).toEqual(['first']);
  expect(runs.map(({ reason }) => reason)).toEqual(['first', 'second']);
  runs[1]?.end();
  await turns.idle();
  expect(over).toEqual(['first', 'second', 'third']);
  expect(runs).toHaveLength(2);
  expect(most()).toBe(1);
});

it('asked after it has run: it runs again', async () => {
  const { turns, runs } = setUp();
  const first = turns.ask('first');
  runs[0]?.end();
  await first;
  const second = turns.ask('second');
  await settled();
  runs[1]?.end();
  await second;
  expect(runs).toHaveLength(2);
});
