// The files whose lines count: the product's own code.

import { globSync } from 'node:fs';

/** Returns their paths below `rootDir`. */
export function sourceFiles(rootDir: string): string[] {
  const files = globSync('{lib,gateway,plugins,jobs,workers,cli}/**/*.ts', { cwd: rootDir });
  return files.filter((file) => !file.endsWith('.d.ts') && !file.includes('/overrides/')).toSorted();
}
