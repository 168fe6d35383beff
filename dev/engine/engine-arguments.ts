// Command-line arguments and environment of the engine, with Java or in a container.

import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Java } from './find-java.ts';

/** Path of the properties of an engine on SQLite. */
export const engineProperties = fileURLToPath(new URL('../../lib/conductor/server/sqlite.properties', import.meta.url));
/** Path of the properties of an engine on PostgreSQL. */
export const postgresqlProperties = fileURLToPath(
  new URL('../../lib/conductor/server/postgresql.properties', import.meta.url),
);
/** Path of the properties of an engine on Redis. */
export const redisProperties = fileURLToPath(new URL('../../lib/conductor/server/redis.properties', import.meta.url));
/** Path of the additional properties of engines that share one PostgreSQL database. */
export const clusterProperties = fileURLToPath(
  new URL('../../lib/conductor/server/cluster.properties', import.meta.url),
);

/**
 * Selects one logger context for the whole process. The default inspects the call stack for each logger, and the engine
 * requests a logger with every query, which took a tenth of its CPU time (bench/results/2026-11-22-engine-settings.md).
 */
export const engineLogOptions = [
  '-Dlog4j2.contextSelector=org.apache.logging.log4j.core.selector.BasicContextSelector',
];

/**
 * JVM options of the embedded engine, with Java or in a container; lib/conductor/server/README.md has the measurements.
 * The heap limit of 384 MiB is enough for eight concurrent responses of the largest size.
 */
export const engineJavaOptions = [
  '-Xmx384m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  ...engineLogOptions,
  // After an OutOfMemoryError the process may have lost a thread, so it exits and the launcher restarts it.
  '-XX:+ExitOnOutOfMemoryError',
];

/** Returns all JVM options for a Java installation on this machine. */
export function javaOptions({ major }: Java): string[] {
  // Without -Xlog:disable, Java prints at each start which optimisations it cannot use with the class archive.
  const quiet = ['-Xlog:disable', ...(major >= 24 ? ['--sun-misc-unsafe-memory-access=allow'] : [])];
  return [...engineJavaOptions, '--enable-native-access=ALL-UNNAMED', ...quiet];
}

/** A database server, as opposed to an SQLite file. */
export interface DatabaseServer {
  /** JDBC URL. */
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

/** A Redis server on 127.0.0.1. */
export interface RedisStore {
  readonly redisPort: number;
}

/** Where an engine keeps its data: an SQLite file, a database server or Redis. */
export type EngineStore = string | DatabaseServer | RedisStore;

/** The variable part of the engine's arguments. */
export interface EngineArguments {
  /** Paths of the property files; later files take precedence. */
  readonly properties: readonly string[];
  readonly database: EngineStore;
  readonly port: number;
}

/** Returns the arguments after `-jar <jar>`. */
export function engineArguments({ properties, database, port }: EngineArguments): string[] {
  return [
    `--spring.config.additional-location=${properties.map((file) => pathToFileURL(file).href).join(',')}`,
    ...dataSourceArguments(database),
    `--server.port=${port}`,
  ];
}

function dataSourceArguments(database: EngineStore): string[] {
  // The zone, `local`, is required by the syntax and has no effect with one server.
  if (isRedisStore(database)) return [`--conductor.redis.hosts=127.0.0.1:${database.redisPort}:local`];
  if (typeof database !== 'string') {
    return Object.entries(database).map(([key, value]) => `--spring.datasource.${key}=${value}`);
  }
  // With WAL and NORMAL, a commit survives a crash of the engine and needs no fsync of its own.
  const pragmas = 'busy_timeout=15000&journal_mode=WAL&synchronous=NORMAL';
  return [`--spring.datasource.url=jdbc:sqlite:${pathToFileURL(database).href}?${pragmas}`];
}

/** Returns true for a Redis server. */
export function isRedisStore(store: EngineStore | undefined): store is RedisStore {
  return typeof store === 'object' && 'redisPort' in store;
}

/** Returns only the variables that Java needs, since Spring turns every environment variable into a property. */
export function engineEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const passed = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];
  return Object.fromEntries(passed.map((name) => [name, env[name]]).filter(([, value]) => value !== undefined));
}
