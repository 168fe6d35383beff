// fast-check with the seed of the run: a failed property fails again with the same TEST_SEED.

import fc from 'fast-check';
import { byDepth } from './depth.ts';
import { seedOfRun } from './seed.ts';

fc.configureGlobal({ seed: Number(seedOfRun()), numRuns: byDepth(100, 1_000) });

export { fc };
