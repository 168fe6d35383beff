// Two suites: `unit` needs nothing but this machine's loopback interface; `e2e` runs on real engines that start once.

import { defineConfig } from 'vitest/config';
import { countEngines } from './test/e2e/count-engines.ts';
import FileOrder from './test/e2e/file-order.ts';
import { compileCache } from './test/stack/compile-cache.ts';
import { seedOfRun } from './test/run/seed.ts';

/** A test that fails once has failed: it is not retried. The seed reproduces its random choices. */
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
          setupFiles: ['test/run/real-clock.ts'],
          sequence: { groupOrder: 1 },
          // Each worker evaluates the product's modules itself (1.5 s of CPU time); files spend most of their time
          // waiting.
          maxWorkers: 3,
          // Modules of the product have no state of their own: a worker evaluates them once for all its files.
          isolate: false,
          // A deadline for tests that hang, long enough for a busy machine; not a measure of speed.
          testTimeout: 240_000,
          hookTimeout: 240_000,
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
          // A worker keeps its stack for the next file (test/stack/stack.ts).
          isolate: false,
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
