// The test configuration for coverage. Node itself loads the modules, so that V8's positions are those in the files.

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import usual from '../../vitest.config.ts';

const setupFile = fileURLToPath(new URL('take-coverage.ts', import.meta.url));
const native = { pool: 'forks' as const, experimental: { viteModuleRunner: false } };

export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    projects: (usual.test?.projects ?? []).map((project) =>
      typeof project === 'object' && 'test' in project ? { ...project, test: natively(project.test ?? {}) } : project,
    ),
  },
});

function natively<T extends { setupFiles?: string | string[] }>(test: T) {
  return { ...test, ...native, setupFiles: [test.setupFiles ?? [], setupFile].flat() };
}
