// fast-check with the seed of the run: a failed property fails again with the same TEST_SEED.

import fc from 'fast-check';
import { byDepth } from './depth.ts';
import { seedOfRun } from './seed.ts';

fc.configureGlobal({ seed: Number(seedOfRun()), numRuns: byDepth(100, 1_000) });

/**
 * Returns an arbitrary of strings of any code points, including lone surrogates. The unit `binary` of fast-check is
 * equivalent, but creates a table of all 1.1 million code points for each arbitrary, which takes a second of CPU time.
 */
export function anyText(constraints: fc.StringSharedConstraints = {}): fc.Arbitrary<string> {
  return fc.string({ ...constraints, unit: codePoint });
}

const codePoint = fc.integer({ min: 0, max: 0x10_ffff }).map(
  (code) => String.fromCodePoint(code),
  // fast-check uses this function to check whether strings that often break programs, such as `__proto__`, belong to the
  // arbitrary.
  (text) => {
    const code = typeof text === 'string' ? text.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== text) throw new Error('not one code point');
    return code;
  },
);

export { fc };
