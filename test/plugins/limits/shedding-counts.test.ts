// Tests of the counter with which load shedding recognizes requests above a client's rate.

import { expect, it } from 'vitest';
import { SheddingCounts } from '../../../plugins/limits/shedding-counts.ts';

it('counts each key separately, and starts again in each window', () => {
  const counts = new SheddingCounts(1_000);
  const ask = (key: string, times: number, now: number) =>
    Array.from({ length: times }, () => counts.count(key, 2, now));
  expect(ask('one', 3, 500)).toEqual([true, true, false]);
  expect(ask('two', 2, 900)).toEqual([true, true]);
  expect(ask('one', 1, 1_499)).toEqual([false]);
  expect(ask('one', 3, 1_500)).toEqual([true, true, false]);
  expect(ask('two', 1, 1_500)).toEqual([true]);
});
