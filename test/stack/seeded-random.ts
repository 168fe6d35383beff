// Random numbers that a seed makes again: the moments and choices of a run that breaks things.

import { randomInt } from 'node:crypto';

/** @param text decimal digits, as a run prints its seed; a new seed when absent. @throws Error for anything else */
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
    /** From 0 to below 1. */
    next,
    /** A whole number from 0 to below `count`. */
    below: (count: number) => Math.floor(next() * count),
    /** From `from` to below `to`. */
    between: (from: number, to: number) => from + next() * (to - from),
  };
}

export type SeededRandom = ReturnType<typeof seededRandom>;
