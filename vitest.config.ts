// Two suites: `unit` needs nothing but this machine's loopback, `e2e` runs on real engines that are started once.

import { defineConfig } from 'vitest/config';
import { countEngines } from './test/e2e/count-engines.ts';

/** Real processes, sockets and deadlines on a machine that others may share. The report names what needed it. */
const retry = 1;

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**'],
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
          testTimeout: 20_000,
          hookTimeout: 30_000,
          retry,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/e2e/global-setup.ts'],
          sequence: { groupOrder: 2 },
          maxWorkers: countEngines(),
          retry,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
