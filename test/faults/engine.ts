// Starts real engines for fault injection: one on SQLite or Redis, or one or more on a separate PostgreSQL database.

import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { createDatabase } from '../stack/postgresql-database.ts';
import {
  clusterProperties,
  type DatabaseServer,
  postgresqlProperties,
  type RedisStore,
} from '../../dev/engine/engine-arguments.ts';
import type { EngineTuning } from '../../dev/engine/java-engine.ts';
import { type RunningEngine, startEngine } from '../../dev/engine/start-engine.ts';
import { pathOf } from '../run/requirements.ts';
import { type BreakableProxy, startBreakableProxy } from '../stack/breakable-proxy.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { startPostgresql } from '../stack/postgresql-server.ts';
import { type AppendFsync, type RedisServer, startRedisServer } from '../stack/redis-server.ts';
import type { ServerProcess } from '../stack/server-process.ts';
import { stopAll } from './stop-all.ts';

export const engineKinds = ['sqlite', 'postgresql', 'redis'] as const;
/** The store in which an engine keeps its executions and queues. */
export type EngineKind = (typeof engineKinds)[number];

/** One of the engines on a database. */
export interface EngineNode {
  readonly url: string;
  readonly pid: number;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Restarts the engine on its database and port; resolves when it responds. */
  start(): Promise<void>;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
}

/** The first node, and the parts that all nodes share. */
export interface FaultEngine extends EngineNode {
  readonly kind: EngineKind;
  readonly nodes: readonly EngineNode[];
  /** Folder of the data: a separate file system when `diskMiB` is given. */
  readonly dataDir: string;
  /** Path of the SQLite file; empty on PostgreSQL and on Redis. */
  readonly databaseFile: string;
  /** JDBC URL of the PostgreSQL database, if any. */
  readonly databaseUrl: string | undefined;
  /** The PostgreSQL server that only these engines use, if any. */
  readonly server: ServerProcess | undefined;
  /** Proxy between the engines and `server`, if any. */
  readonly databaseProxy: BreakableProxy | undefined;
  /** The Redis server that only this engine uses, if it stores its data in Redis. */
  readonly redis: RedisServer | undefined;
  /** When Redis syncs; undefined on other stores. */
  readonly appendfsync: AppendFsync | undefined;
  stop(): Promise<void>;
}

/** An engine; only its address is required. */
export type GivenEngine = Pick<FaultEngine, 'url'> & Partial<FaultEngine>;

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

export interface FaultEngineOptions {
  /** Number of engines on the database; more than one only on PostgreSQL. Default: 1. */
  readonly count?: number | undefined;
  /** Size of a tmpfs for the data, in MiB. On PostgreSQL, this requires `ownServer`. */
  readonly diskMiB?: number | undefined;
  /** On PostgreSQL: a separate server behind a proxy, so that cases can disturb both. */
  readonly ownServer?: boolean | undefined;
  /** When Redis syncs its append-only file. Default: `everysec`. */
  readonly appendfsync?: AppendFsync | undefined;
  /**
   * Folder in which an SQLite file with the definitions is kept. The next run then need not start an engine to register
   * them.
   */
  readonly templateDir?: string | undefined;
  /** Environment variables of the engines. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

/** Where the engines keep their data. */
interface Storage {
  readonly database?: DatabaseServer | RedisStore | undefined;
  readonly databaseUrl?: string | undefined;
  readonly redis?: RedisServer | undefined;
  readonly server?: ServerProcess | undefined;
  readonly proxy?: BreakableProxy | undefined;
  stop(): Promise<void>;
}

/**
 * Starts engines, registers the definitions, and restarts the engines: an engine listens at once to the events of
 * handlers that exist at its start, but takes up to a minute to listen to the events of later handlers.
 * @throws Error with a readable message when something is missing
 */
export async function startFaultEngine(kind: EngineKind, options: FaultEngineOptions = {}): Promise<FaultEngine> {
  const { count = 1, diskMiB, templateDir, environment } = options;
  if (count > 1 && kind !== 'postgresql') throw new Error('several engines need PostgreSQL');
  const stops: (() => unknown)[] = [];
  const stop = async () => {
    const failed = await stopAll(stops.splice(0));
    if (failed.length > 0) throw new Error(failed.join('; '));
  };
  try {
    const dir = mkdtempSync(join(tmpdir(), 'service-router-engine-'));
    stops.push(() => rmSync(dir, { recursive: true, force: true }));
    const dataDir = diskMiB === undefined ? dir : mountDisk(join(dir, 'disk'), diskMiB);
    if (diskMiB !== undefined) stops.push(() => execFileSync('umount', ['--lazy', dataDir]));
    const storage = await startStorage[kind]({ dir, dataDir }, options);
    stops.push(() => storage.stop());
    const tuning = tuningOf(storage, { count, environment });
    const nodes = await Promise.all(
      Array.from({ length: count }, async (_, index) =>
        createNode(index === 0 ? dataDir : join(dataDir, `${index + 1}`), tuning),
      ),
    );
    stops.push(() => Promise.all(nodes.map((node) => node.end())));
    const [first] = nodes as [Node];
    const databaseFile = join(dataDir, 'engine', 'conductor.db');
    const template = templateDir === undefined || kind !== 'sqlite' ? undefined : join(templateDir, 'conductor.db');
    if (!useTemplate(template, databaseFile)) await prepare(first, { template, databaseFile });
    await Promise.all(nodes.map((node) => node.start()));
    return Object.assign(first, {
      ...{ kind, nodes, dataDir, databaseFile, databaseUrl: storage.databaseUrl },
      ...{ server: storage.server, databaseProxy: storage.proxy, redis: storage.redis, stop },
      appendfsync: kind === 'redis' ? (options.appendfsync ?? 'everysec') : undefined,
    });
  } catch (error) {
    await stopAll(stops.splice(0));
    throw error;
  }
}

/** Mounts a tmpfs of this size on a new folder; returns the folder. */
function mountDisk(folder: string, mebibytes: number): string {
  mkdirSync(folder);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder]);
  return folder;
}

interface Node extends EngineNode {
  end(): Promise<void>;
}

async function createNode(stateDir: string, tuning: EngineTuning): Promise<Node> {
  mkdirSync(stateDir, { recursive: true });
  const port = await findFreePort();
  let running: RunningEngine | undefined;
  const node: Node = {
    url: `http://127.0.0.1:${port}`,
    get pid() {
      if (running?.pid === undefined)
        throw new Error('the engine of CONDUCTOR_URL is never killed: unset the variable');
      return running.pid;
    },
    async kill() {
      process.kill(node.pid, 'SIGKILL');
      await running?.stop();
    },
    async start() {
      running = await startEngine({ port, stateDir, tuning, say: () => undefined });
    },
    signal(name) {
      process.kill(node.pid, name);
    },
    async end() {
      await running?.stop();
    },
  };
  return node;
}

function tuningOf({ database, databaseUrl }: Storage, { count = 1, environment }: FaultEngineOptions): EngineTuning {
  if (databaseUrl === undefined) return { environment, database };
  const properties = count === 1 ? [postgresqlProperties] : [postgresqlProperties, clusterProperties];
  return { environment, properties, database };
}

/** Copies a prepared database to its path; returns false when there is none. */
function useTemplate(template: string | undefined, databaseFile: string): boolean {
  if (template === undefined || !existsSync(template)) return false;
  mkdirSync(dirname(databaseFile));
  copyFileSync(template, databaseFile);
  return true;
}

async function prepare(node: Node, files: { template: string | undefined; databaseFile: string }): Promise<void> {
  await node.start();
  await promisify(execFile)(process.execPath, ['cli/main.ts', 'register', '--engine', node.url], { cwd: rootDir });
  await node.end();
  if (files.template === undefined) return;
  mkdirSync(dirname(files.template), { recursive: true });
  copyFileSync(files.databaseFile, files.template);
}

interface Folders {
  readonly dir: string;
  /** Folder of the data, which may be a separate file system. */
  readonly dataDir: string;
}

const startStorage: Readonly<Record<EngineKind, (folders: Folders, options: FaultEngineOptions) => Promise<Storage>>> =
  {
    sqlite: async () => ({ stop: async () => undefined }),
    postgresql: startDatabase,
    async redis({ dataDir }, { appendfsync }) {
      const redis = await startRedisServer({ dir: join(dataDir, 'redis'), appendfsync });
      return { database: { redisPort: Number(new URL(redis.url).port) }, redis, stop: () => redis.stop() };
    },
  };

/** Creates a database: on a separate server behind a proxy, or on the server that psql connects to. */
async function startDatabase({ dir, dataDir }: Folders, { ownServer, diskMiB }: FaultEngineOptions): Promise<Storage> {
  if (ownServer !== true) {
    if (diskMiB !== undefined) throw new Error('a file system for the data needs a separate server');
    const { server, drop } = await createDatabase();
    return { database: server, databaseUrl: server.url, stop: drop };
  }
  const program = pathOf('postgres');
  if (program === undefined) throw new Error('initdb and postgres are missing: apt-get install postgresql');
  // When this process runs as root, PostgreSQL runs as another user and needs access.
  chmodSync(dir, 0o755);
  const { process, database } = await startPostgresql({ bin: dirname(program), dir });
  const { host, pathname } = new URL(database.url.slice('jdbc:'.length));
  if (diskMiB !== undefined) await moveTables(host, dataDir);
  const proxy = await startBreakableProxy(`http://${host}`);
  const databaseUrl = `jdbc:postgresql://${new URL(proxy.url).host}${pathname}`;
  return {
    database: { ...database, url: databaseUrl },
    ...{ databaseUrl, server: process, proxy },
    async stop() {
      await proxy.stop();
      await process.stop();
    },
  };
}

/**
 * Puts new tables of the server at `host` into a folder. The write-ahead log stays where it is, because the server
 * stops when the file system of the log is full.
 */
async function moveTables(host: string, dataDir: string): Promise<void> {
  const folder = join(dataDir, 'tablespace');
  mkdirSync(folder);
  // The server accepts only folders that it owns.
  execFileSync('chown', ['postgres', folder]);
  const { hostname, port } = new URL(`http://${host}`);
  const sql = postgres({ host: hostname, port: Number(port), username: 'postgres', max: 1 });
  try {
    await sql.unsafe(`CREATE TABLESPACE disk LOCATION '${folder}'`);
    await sql`ALTER ROLE postgres SET default_tablespace = disk`;
  } finally {
    await sql.end();
  }
}
