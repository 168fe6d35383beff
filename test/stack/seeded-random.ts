// Random numbers that a seed reproduces, for the times and choices of fault injection runs.

import { randomInt } from 'node:crypto';

/**
 * Creates a generator.
 * @param text seed in decimal digits, as a run prints it. Default: a new seed
 * @throws Error for any other text
 */
export function seededRandom(text?: string) {
  const seed = text === undefined ? randomInt(2 ** 32) : Number(text);
  if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 32) throw new Error(`not a seed: ${text}`);
  let state = seed;
  // mulberry32
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    seed,
    /** Returns a number of at least 0 and less than 1. */
    next,
    /** Returns a whole number of at least 0 and less than `count`. */
    below: (count: number) => Math.floor(next() * count),
    /** Returns a number of at least `from` and less than `to`. */
    between: (from: number, to: number) => from + next() * (to - from),
  };
}

export type SeededRandom = ReturnType<typeof seededRandom>;
