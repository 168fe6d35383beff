// Finds the programs of servers that tests start for themselves.

import { accessSync, constants, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Path of redis-server. */
export const findRedisServer = () => findProgram('redis-server');

/** Path of the first program of this name on the PATH. */
export function findProgram(name: string): string | undefined {
  return searchPath()
    .map((dir) => join(dir, name))
    .find(isExecutable);
}

/** Directory with `initdb` and `postgres`. */
export function findPostgresqlBin(): string | undefined {
  // Debian keeps the server's programs out of the path.
  const dirs = [...searchPath(), ...globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed()];
  return dirs.find((dir) => ['initdb', 'postgres'].every((name) => isExecutable(join(dir, name))));
}

const searchPath = () => (process.env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== '');

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
