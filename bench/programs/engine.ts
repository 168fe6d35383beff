// The engine of a run and what it stores in, started like the product's engine by default.

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

/** Where an engine keeps executions. */
export const engineStores = ['sqlite', 'postgresql', 'redis'] as const;
export type EngineStore = (typeof engineStores)[number];

export interface EngineChoice {
  readonly store: EngineStore;
  /** Path of a property file instead of the product's own. */
  readonly properties: string | undefined;
  /** Options of the Java machine instead of the product's own. */
  readonly javaOptions: readonly string[] | undefined;
  /** Its niceness instead of the product's own. */
  readonly niceness?: number | undefined;
  /** Statements for its PostgreSQL database, once it has made its tables. */
  readonly sql?: readonly string[];
}

export interface BenchEngine extends RouterEngine {
  /** First processes of engine and database; those that they start are not named. Empty for an engine that runs elsewhere. */
  readonly pids: readonly number[];
  /** `engine` and `database`, as far as they are ours to see. */
  processes(): Promise<Processes>;
  /** Bytes its database takes; NaN when that cannot be seen. */
  databaseBytes(): Promise<number>;
}

/** Starts it, or takes the one CONDUCTOR_URL names, and registers what the targets run. */
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
    // As `npm start -- --store redis`: the router uses the same server.
    return { url, pids, routerEnv: { REDIS_URL: redis.url }, processes, databaseBytes: async () => Number.NaN };
  },
};

async function startWith(run: Run, choice: EngineChoice, tuning: EngineTuning = {}) {
  const engine = await startEngine(await optionsOf(run, choice, tuning));
  run.onEnd(() => engine.stop());
  return engine;
}

async function optionsOf(run: Run, choice: EngineChoice, tuning: EngineTuning = {}) {
  const { properties, javaOptions, niceness } = choice;
  return {
    port: await findFreePort(),
    stateDir: run.stateDir,
    tuning: { properties, javaOptions, niceness, ...tuning },
  };
}

function known(...pids: readonly (number | undefined)[]): number[] {
  return pids.filter((pid) => pid !== undefined);
}

/** The file and its write-ahead log. */
function sqliteBytes(stateDir: string): number {
  const folder = join(stateDir, 'engine');
  try {
    const files = readdirSync(folder).filter((name) => name.startsWith('conductor.db'));
    return files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  } catch {
    return Number.NaN;
  }
}
