// The product's root directory and version.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Absolute path of the product's root directory. */
export const rootDir = fileURLToPath(new URL('..', import.meta.url));

/** Returns the version in package.json. */
export function readVersion(): string {
  return (JSON.parse(readFileSync(join(rootDir, 'package.json'), 'utf8')) as { version: string }).version;
}
