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
import { createDatabase } from './postgresql.ts';
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
    return { url, processes: async () => ({ ...processOf('engine', pid) }), databaseBytes };
  },
  async postgresql(run, choice) {
    const database = await createDatabase();
    run.onEnd(() => database.drop());
    const properties = choice.properties ?? postgresqlProperties;
    const { url, pid } = await startWith(run, choice, { properties, database: database.server });
    for (const statement of choice.sql ?? []) await database.execute(statement);
    const processes = async () => ({ ...processOf('engine', pid), database: await database.processes() });
    return { url, processes, databaseBytes: () => database.size() };
  },
  async redis(run, choice) {
    const engine = await startRedisEngine(await optionsOf(run, choice));
    run.onEnd(() => engine.stop());
    const { url, pid, redis } = engine;
    const processes = async () => ({ ...processOf('engine', pid), ...processOf('database', redis.pid) });
    // As `npm start -- --store redis`: the router uses the same server.
    return { url, routerEnv: { REDIS_URL: redis.url }, processes, databaseBytes: async () => Number.NaN };
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

function processOf(name: string, pid: number | undefined): Processes {
  return pid === undefined ? {} : { [name]: [pid] };
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
