// The engine of a run: on SQLite or on a separate PostgreSQL database, started like the product's engine by default.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { postgresqlProperties } from '../../dev/engine/engine-arguments.ts';
import { startEngine } from '../../dev/engine/start-engine.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import type { Processes } from '../measure/processes.ts';
import type { Run } from '../run.ts';
import { registerDefinitions } from './definitions.ts';
import { createDatabase } from './postgresql.ts';

export interface EngineChoice {
  readonly postgresql: boolean;
  /** Path of a property file instead of the product's own. */
  readonly properties: string | undefined;
  /** Options of the Java machine instead of the product's own. */
  readonly javaOptions: readonly string[] | undefined;
  /** Its niceness instead of the product's own. */
  readonly niceness?: number | undefined;
  /** Statements for its PostgreSQL database, once it has made its tables. */
  readonly sql?: readonly string[];
}

export interface BenchEngine {
  readonly url: string;
  /** `engine` and `database`, as far as they are ours to see. */
  processes(): Promise<Processes>;
  /** Bytes its database takes; NaN when that cannot be seen. */
  databaseBytes(): Promise<number>;
}

/** Starts it, or takes the one CONDUCTOR_URL names, and registers what the targets run. */
export async function startBenchEngine(run: Run, choice: EngineChoice): Promise<BenchEngine> {
  run.step('starting the engine');
  if (choice.postgresql && process.env['CONDUCTOR_URL'])
    throw new Error('--postgresql starts an engine: unset CONDUCTOR_URL');
  const database = choice.postgresql ? await createDatabase() : undefined;
  run.onEnd(() => database?.drop());
  const properties = choice.properties ?? (choice.postgresql ? postgresqlProperties : undefined);
  const engine = await startEngine({
    port: await findFreePort(),
    stateDir: run.stateDir,
    tuning: { properties, javaOptions: choice.javaOptions, niceness: choice.niceness, database: database?.server },
  });
  run.onEnd(() => engine.stop());
  for (const statement of choice.sql ?? []) await database?.execute(statement);
  await registerDefinitions(engine.url);
  return {
    url: engine.url,
    processes: async () => ({
      ...(engine.pid === undefined ? {} : { engine: [engine.pid] }),
      ...(database === undefined ? {} : { database: await database.processes() }),
    }),
    databaseBytes: async () => database?.size() ?? sqliteBytes(run.stateDir),
  };
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
