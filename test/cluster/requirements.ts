// What the cluster needs on this machine, found or named: everything that is missing in one message.

import { accessSync, constants, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { findJava } from '../../dev/engine/find-java.ts';
import { findMaven } from '../../dev/engine/maven.ts';
import { cacheFolder, isStamped } from '../../dev/engine/jar.ts';
import { keycloakRelease } from '../keycloak/release.ts';

export interface Requirements {
  /** Path of redis-server. */
  readonly redisServer: string;
  /** Directory with `initdb` and `postgres`. */
  readonly postgresqlBin: string;
}

/** @throws Error for people that lists everything missing, and how to get it */
export async function findRequirements(): Promise<Requirements> {
  const redisServer = findRedisServer();
  const postgresqlBin = findPostgresqlBin();
  const missing: string[] = [];
  if (redisServer === undefined) missing.push('redis-server: apt-get install redis-server');
  if (postgresqlBin === undefined) missing.push('initdb and postgres: apt-get install postgresql');
  const { java } = await findJava({ minMajor: keycloakRelease.minJava });
  if (java === undefined) missing.push(`Java ${keycloakRelease.minJava} or newer (JAVA_HOME or PATH)`);
  const hasKeycloak = await isStamped(join(cacheFolder(), keycloakRelease.fileName), keycloakRelease);
  if (!hasKeycloak && (await findMaven(process.env)) === undefined)
    missing.push('Maven (mvn), which fetches Keycloak (176 MB) and the engine the first time');
  if (process.env['CONDUCTOR_URL']) missing.push('an unset CONDUCTOR_URL: the engines are killed');
  if (redisServer !== undefined && postgresqlBin !== undefined && missing.length === 0)
    return { redisServer, postgresqlBin };
  throw new Error(['npm run test:cluster needs:', ...missing.map((line) => `  - ${line}`)].join('\n'));
}

/** Path of redis-server. */
export function findRedisServer(): string | undefined {
  return searchPath()
    .map((dir) => join(dir, 'redis-server'))
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
