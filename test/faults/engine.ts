// A real engine that a run may kill, freeze and starve, on SQLite or on a PostgreSQL database of its own.

import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createDatabase, type Database } from '../../bench/programs/postgresql.ts';
import { postgresqlProperties } from '../../dev/engine/engine-arguments.ts';
import { type RunningEngine, startEngine } from '../../dev/engine/start-engine.ts';
import { findPostgresqlBin } from '../cluster/requirements.ts';
import { startPostgresql } from '../cluster/postgresql.ts';
import type { ServerProcess } from '../cluster/server-process.ts';
import { freePort } from '../stack/free-port.ts';

export type EngineKind = 'sqlite' | 'postgresql';

export interface FaultEngine {
  readonly kind: EngineKind;
  readonly url: string;
  readonly pid: number;
  /** Where its data lies: a file system of its own when `diskMiB` is given. */
  readonly dataDir: string;
  /** The SQLite file; nothing on PostgreSQL. */
  readonly databaseFile: string;
  /** JDBC URL of the PostgreSQL database, when it is one. */
  readonly databaseUrl: string | undefined;
  /** The PostgreSQL server that this engine alone uses, when it has one. */
  readonly server: ServerProcess | undefined;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again on its database and port; resolves when it answers. */
  start(): Promise<void>;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  stop(): Promise<void>;
}

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

export interface FaultEngineOptions {
  /** Its data lies on a tmpfs of this size. */
  readonly diskMiB?: number | undefined;
  /** On PostgreSQL: a server that nobody else uses, so that it may be stopped. */
  readonly ownServer?: boolean | undefined;
  /** Where an SQLite file with the definitions in it is kept for the next run, which then boots one engine less. */
  readonly templateDir?: string | undefined;
}

/**
 * Starts an engine, registers the definitions, and starts it anew: an engine listens to the events of a handler from
 * its start on, but up to a minute late when the handler comes later.
 */
export async function startFaultEngine(
  kind: EngineKind,
  { diskMiB, templateDir, ownServer = false }: FaultEngineOptions = {},
): Promise<FaultEngine> {
  const dir = mkdtempSync(join(tmpdir(), 'service-router-engine-'));
  if (diskMiB !== undefined) execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMiB}m`, 'tmpfs', dir]);
  const port = await freePort();
  const own = ownServer ? await startOwnServer(dir) : undefined;
  const database =
    own?.database ??
    (kind === 'postgresql'
      ? await createDatabase(diskMiB === undefined ? undefined : createTablespace(dir))
      : undefined);
  const tuning = database === undefined ? {} : { properties: postgresqlProperties, database: database.server };
  const launch = () => startEngine({ port, stateDir: dir, tuning, say: () => undefined });
  const databaseFile = join(dir, 'engine', 'conductor.db');
  const template = templateDir === undefined || kind !== 'sqlite' ? undefined : join(templateDir, 'conductor.db');
  const isPrepared = template !== undefined && existsSync(template);
  if (isPrepared) {
    mkdirSync(dirname(databaseFile));
    copyFileSync(template, databaseFile);
  }
  let running: RunningEngine = await launch();
  const engine = {
    kind,
    url: running.url,
    dataDir: dir,
    databaseFile,
    databaseUrl: database?.server.url,
    server: own?.process,
    get pid() {
      return running.pid as number;
    },
    async kill() {
      process.kill(engine.pid, 'SIGKILL');
      await running.stop();
    },
    async start() {
      running = await launch();
    },
    signal: (name: 'SIGSTOP' | 'SIGCONT') => void process.kill(engine.pid, name),
    async stop() {
      await running.stop();
      await database?.drop();
      if (diskMiB !== undefined) execFileSync('umount', ['--lazy', dir]);
      rmSync(dir, { recursive: true, force: true });
    },
  };
  if (isPrepared) return engine;
  await promisify(execFile)(process.execPath, ['cli/main.ts', 'register', '--engine', engine.url], { cwd: rootDir });
  await running.stop();
  if (template !== undefined) {
    mkdirSync(dirname(template), { recursive: true });
    copyFileSync(databaseFile, template);
  }
  await engine.start();
  return engine;
}

/** @throws Error where PostgreSQL is not installed */
async function startOwnServer(
  dir: string,
): Promise<{ process: ServerProcess; database: Pick<Database, 'server' | 'drop'> }> {
  const bin = findPostgresqlBin();
  if (bin === undefined) throw new Error('initdb and postgres: apt-get install postgresql');
  chmodSync(dir, 0o755);
  const { process, database } = await startPostgresql({ bin, dir });
  return { process, database: { server: database, drop: () => process.stop() } };
}

/** A folder that the PostgreSQL server may keep a database in: it takes none that is not its own. */
function createTablespace(dir: string): string {
  const folder = join(dir, 'tablespace');
  mkdirSync(folder);
  execFileSync('chown', ['postgres', folder]);
  return folder;
}
