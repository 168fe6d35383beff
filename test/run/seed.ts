// The seed of a run, which determines every random choice of a test.

import { type SeededRandom, seededRandom } from '../stack/seeded-random.ts';

/**
 * Returns the seed in decimal digits: `TEST_SEED`, otherwise a new one, which is set for this process and its children.
 */
export function seedOfRun(env: NodeJS.ProcessEnv = process.env): string {
  const seed = String(seededRandom(env['TEST_SEED']).seed);
  env['TEST_SEED'] = seed;
  return seed;
}

/** Returns a new sequence of random numbers, the same for every caller in runs with the same seed. */
export function randomOfRun(): SeededRandom {
  return seededRandom(seedOfRun());
}
