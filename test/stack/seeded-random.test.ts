// Tests of seeded random numbers: a seed reproduces the same numbers, and the numbers are spread over their range.

import { expect, it } from 'vitest';
import { seededRandom } from './seeded-random.ts';

const numbersOf = (seed: string) => {
  const random = seededRandom(seed);
  return Array.from({ length: 1_000 }, () => random.next());
};

it('the same seed → the same numbers; another seed → other numbers', () => {
  expect(numbersOf('7')).toEqual(numbersOf('7'));
  expect(numbersOf('7')).not.toEqual(numbersOf('8'));
});

it('spreads the numbers from 0 to just below 1', () => {
  const tenths = new Set(numbersOf('1').map((number) => Math.floor(number * 10)));
  expect([...tenths].toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

it.each(['x', '-1', '1.5', '4294967296'])('rejects the seed %s', (text) => {
  expect(() => seededRandom(text)).toThrow('not a seed');
});
