// Starts the engine of a run and its store, by default with the product's own settings.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { postgresqlProperties } from '../../dev/engine/engine-arguments.ts';
import type { EngineTuning } from '../../dev/engine/java-engine.ts';
import { startEngine } from '../../dev/engine/start-engine.ts';
import { startRedisEngine } from '../../dev/engine/start-redis-engine.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import type { Processes } from '../measure/processes.ts';
import type { Run } from '../run.ts';
import { registerDefinitions } from './definitions.ts';
import { startOwnPostgresql } from './postgresql.ts';
import type { RouterEngine } from './stack.ts';

/** The stores in which an engine can keep executions. */
export const engineStores = ['sqlite', 'postgresql', 'redis'] as const;
export type EngineStore = (typeof engineStores)[number];

export interface EngineChoice {
  readonly store: EngineStore;
  /** Path of a property file that replaces the product's own. */
  readonly properties: string | undefined;
  /** JVM options that replace the product's own. */
  readonly javaOptions: readonly string[] | undefined;
  /** SQL statements that are executed in the PostgreSQL database once the engine has created its tables. */
  readonly sql?: readonly string[];
}

export interface BenchEngine extends RouterEngine {
  /** Root processes of the engine and the database, without children. Empty for an engine that runs elsewhere. */
  readonly pids: readonly number[];
  /** Returns the processes on this machine, under the names `engine` and `database`. */
  processes(): Promise<Processes>;
  /** Returns the size of the database in bytes; NaN when it is unknown. */
  databaseBytes(): Promise<number>;
}

/** Starts the engine, or uses the one at CONDUCTOR_URL, and registers the definitions of the targets. */
export async function startBenchEngine(run: Run, choice: EngineChoice): Promise<BenchEngine> {
  run.step('starting the engine');
  const { store } = choice;
  if (store !== 'sqlite' && process.env['CONDUCTOR_URL'])
    throw new Error(`--store ${store} starts an engine: unset CONDUCTOR_URL`);
  const engine = await starts[store](run, choice);
  await registerDefinitions(engine.url);
  return engine;
}

const starts: Readonly<Record<EngineStore, (run: Run, choice: EngineChoice) => Promise<BenchEngine>>> = {
  async sqlite(run, choice) {
    const { url, pid } = await startWith(run, choice);
    const databaseBytes = async () => sqliteBytes(run.stateDir);
    return { url, pids: known(pid), processes: async () => ({ engine: known(pid) }), databaseBytes };
  },
  async postgresql(run, choice) {
    const server = await startOwnPostgresql(run);
    const properties = choice.properties ?? postgresqlProperties;
    const { url, pid } = await startWith(run, choice, { properties, database: server.database });
    for (const statement of choice.sql ?? []) await server.execute(statement);
    const processes = async () => ({ engine: known(pid), database: server.processes() });
    return { url, pids: known(pid, server.pid), processes, databaseBytes: () => server.size() };
  },
  async redis(run, choice) {
    const engine = await startRedisEngine(await optionsOf(run, choice));
    run.onEnd(() => engine.stop());
    const { url, pid, redis } = engine;
    const processes = async () => ({ engine: known(pid), database: known(redis.pid) });
    const pids = known(pid, redis.pid);
    // As with `npm start -- --store redis`, the router uses the engine's Redis server.
    return { url, pids, routerEnv: { REDIS_URL: redis.url }, processes, databaseBytes: async () => Number.NaN };
  },
};

async function startWith(run: Run, choice: EngineChoice, tuning: EngineTuning = {}) {
  const engine = await startEngine(await optionsOf(run, choice, tuning));
  run.onEnd(() => engine.stop());
  return engine;
}

async function optionsOf(run: Run, choice: EngineChoice, tuning: EngineTuning = {}) {
  const { properties, javaOptions } = choice;
  return {
    port: await findFreePort(),
    stateDir: run.stateDir,
    tuning: { properties, javaOptions, ...tuning },
  };
}

function known(...pids: readonly (number | undefined)[]): number[] {
  return pids.filter((pid) => pid !== undefined);
}

/** Returns the size of the SQLite file and its write-ahead log in bytes; NaN when it is unknown. */
function sqliteBytes(stateDir: string): number {
  const folder = join(stateDir, 'engine');
  try {
    const files = readdirSync(folder).filter((name) => name.startsWith('conductor.db'));
    return files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  } catch {
    return Number.NaN;
  }
}
