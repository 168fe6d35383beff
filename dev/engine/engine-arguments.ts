// What the engine is told by its command line and environment, in a container or not.

import { fileURLToPath } from 'node:url';
import type { Java } from './find-java.ts';

/** The product's own properties of an engine on SQLite. */
export const engineProperties = fileURLToPath(new URL('../../lib/conductor/server/sqlite.properties', import.meta.url));
/** The same of an engine on PostgreSQL. */
export const postgresqlProperties = fileURLToPath(
  new URL('../../lib/conductor/server/postgresql.properties', import.meta.url),
);
/** What each of several engines on one PostgreSQL database reads after that. */
export const clusterProperties = fileURLToPath(
  new URL('../../lib/conductor/server/cluster.properties', import.meta.url),
);

/** What an engine that listens to MDM's update queue gets besides. */
export const queueProperties = fileURLToPath(new URL('../../lib/conductor/server/amqp.properties', import.meta.url));
const queueVariable = /^(?:CONDUCTOR_EVENTQUEUES_AMQP_[A-Z]+|SPRING_CONFIG_IMPORT)$/;

/**
 * One logger context for the whole process. The default looks for the caller's own on the stack, and the engine asks
 * for a logger with every query: a tenth of its processor time (bench/engine/README.md).
 */
export const engineLogOptions = [
  '-Dlog4j2.contextSelector=org.apache.logging.log4j.core.selector.BasicContextSelector',
];

/**
 * Options of the Java machine that are the same everywhere; lib/conductor/server/README.md has the measurements.
 * The heap is capped at 384 MiB: enough for eight answers of the largest size at once.
 */
export const engineJavaOptions = [
  '-Xmx384m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  ...engineLogOptions,
  // A new process is better than one that has lost a thread; the launcher starts it again.
  '-XX:+ExitOnOutOfMemoryError',
];

/** All options for a Java of this machine. */
export function javaOptions({ major }: Java): string[] {
  // Without the first, the class archive makes Java say at each start which of its optimisations it leaves out.
  const quiet = ['-Xlog:disable', ...(major >= 24 ? ['--sun-misc-unsafe-memory-access=allow'] : [])];
  return [...engineJavaOptions, '--enable-native-access=ALL-UNNAMED', ...quiet];
}

/** A database that is not a file of the engine's own. */
export interface DatabaseServer {
  /** JDBC URL. */
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

export interface EngineArguments {
  /** Paths of the property files, the last one wins. */
  readonly properties: readonly string[];
  /** Path of the SQLite file, or where else the engine keeps its data. */
  readonly database: string | DatabaseServer;
  readonly port: number;
}

/** Arguments after `-jar <jar>`. */
export function engineArguments({ properties, database, port }: EngineArguments): string[] {
  return [
    `--spring.config.additional-location=${properties.map((file) => `file:${file}`).join(',')}`,
    ...dataSourceArguments(database),
    `--server.port=${port}`,
  ];
}

function dataSourceArguments(database: string | DatabaseServer): string[] {
  if (typeof database !== 'string') {
    return Object.entries(database).map(([key, value]) => `--spring.datasource.${key}=${value}`);
  }
  // WAL and NORMAL: a commit that was answered survives a crash of the engine, and costs no fsync of its own.
  const pragmas = 'busy_timeout=15000&journal_mode=WAL&synchronous=NORMAL';
  return [`--spring.datasource.url=jdbc:sqlite:${database}?${pragmas}`];
}

/** Only what Java itself needs: Spring turns any variable into a property, and this shell's are not meant for it. */
export function engineEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const passed = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];
  return Object.fromEntries(passed.map((name) => [name, env[name]]).filter(([, value]) => value !== undefined));
}

/**
 * Where the broker is and who the engine is to it, by the names that Spring takes for
 * `conductor.event-queues.amqp.…`; `SPRING_CONFIG_IMPORT=configtree:<directory>/` reads what is secret from files.
 */
export function queueEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const passed = Object.entries(env).filter(([name]) => queueVariable.test(name));
  // A condition that takes longer refuses its message, and the first one has to load the engine's JavaScript: 4 s by default.
  return { ...Object.fromEntries(passed), CONDUCTOR_SCRIPT_MAX_EXECUTION_SECONDS: '60' };
}
