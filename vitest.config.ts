// Two suites: `unit` needs nothing but this machine's loopback, `e2e` runs on real engines that are started once.

import { defineConfig } from 'vitest/config';
import { countEngines } from './test/e2e/count-engines.ts';
import FileOrder from './test/e2e/file-order.ts';
import { compileCache } from './test/stack/compile-cache.ts';
import { seedOfRun } from './test/run/seed.ts';

/** A test that fails once has failed: it is not tried again, and the seed makes its random choices again. */
const strict = { retry: 0, allowOnly: false, env: { ...compileCache, TEST_SEED: seedOfRun() } };

export default defineConfig({
  test: {
    reporters: ['default', './test/run/reporter.ts'],
    sequence: { sequencer: FileOrder },
    projects: [
      {
        test: {
          ...strict,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**'],
          sequence: { groupOrder: 1 },
          // Each evaluates the modules of the product for itself, 1.5 s of a processor; most of a file's time is spent waiting.
          maxWorkers: 3,
          // Modules of the product have no state of their own: a worker evaluates them once for all its files.
          isolate: false,
          // A deadline for what hangs, also on a machine that does several things at once; not a measure of speed.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          ...strict,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/e2e/global-setup.ts'],
          setupFiles: ['test/e2e/after-each-file.ts'],
          sequence: { groupOrder: 2 },
          maxWorkers: countEngines(),
          // A worker keeps its stack for the next file (test/stack/shared-stack.ts).
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
