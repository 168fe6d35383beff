// fast-check with the seed of the run: a failed property fails again with the same TEST_SEED.

import fc from 'fast-check';
import { byDepth } from './depth.ts';
import { seedOfRun } from './seed.ts';

fc.configureGlobal({ seed: Number(seedOfRun()), numRuns: byDepth(100, 1_000) });

/**
 * A text of any code points, lone surrogates included. The unit `binary` of fast-check means the same, and makes a table
 * of all 1.1 million of them for each arbitrary: a second of a processor.
 */
export function anyText(constraints: fc.StringSharedConstraints = {}): fc.Arbitrary<string> {
  return fc.string({ ...constraints, unit: codePoint });
}

const codePoint = fc.integer({ min: 0, max: 0x10_ffff }).map(
  (code) => String.fromCodePoint(code),
  // fast-check looks by this whether a text that breaks programs, such as `__proto__`, is one of these.
  (text) => {
    const code = typeof text === 'string' ? text.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== text) throw new Error('not one code point');
    return code;
  },
);

export { fc };
