// Real engines on one database that a run may kill and start again: one on SQLite, one or several on PostgreSQL.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createDatabase } from '../../bench/programs/postgresql.ts';
import { clusterProperties, type DatabaseServer, postgresqlProperties } from '../../dev/engine/engine-arguments.ts';
import type { EngineTuning } from '../../dev/engine/java-engine.ts';
import { type RunningEngine, startEngine } from '../../dev/engine/start-engine.ts';
import { freePort } from './free-port.ts';
import { register } from './prepared-engine.ts';

export type DatabaseKind = 'sqlite' | 'postgresql';

export interface EngineServers {
  /** Base URL of each. */
  readonly urls: readonly string[];
  /** SIGKILL to one of them and whatever belongs to it. */
  kill(index: number): Promise<void>;
  /** Starts one again on its port; resolves when it answers. */
  start(index: number): Promise<void>;
  /** Stops them, and drops the database that was made for them. */
  stop(): Promise<void>;
}

export interface EngineServersOptions {
  /** `postgresql` is a new database on the server that psql finds. */
  readonly database: DatabaseKind | DatabaseServer;
  /** How many; more than one only on PostgreSQL. */
  readonly count: number;
  /** Where each has its files and its log, `engine-<n>/logs/engine.log`. */
  readonly dir: string;
  /** Called between registration and the last start. */
  readonly prepare?: (url: string) => Promise<void>;
}

/**
 * Starts them with the definitions registered. The one that registers is started twice: an engine listens to a
 * handler's events from its own start on.
 * @throws Error for people when there is no PostgreSQL, no Java or no psql
 */
export async function startEngineServers(options: EngineServersOptions): Promise<EngineServers> {
  const { count, dir } = options;
  if (count > 1 && options.database === 'sqlite') throw new Error('several engines need PostgreSQL');
  const own = options.database === 'postgresql' ? await createDatabase() : undefined;
  const server = typeof options.database === 'string' ? own?.server : options.database;
  const tuning: EngineTuning =
    server === undefined
      ? {}
      : {
          properties: count > 1 ? [postgresqlProperties, clusterProperties] : postgresqlProperties,
          database: server,
          // In production an engine has its machine to itself.
          niceness: 0,
        };
  const servers: { port: number; stateDir: string; running: RunningEngine | undefined }[] = [];
  for (let n = 1; n <= count; n++) {
    const stateDir = join(dir, `engine-${n}`);
    mkdirSync(stateDir, { recursive: true });
    servers.push({ port: await freePort(), stateDir, running: undefined });
  }
  const start = async (index: number) => {
    const server = at(servers, index);
    const { port, stateDir } = server;
    server.running = await startEngine({ port, stateDir, tuning, say: () => undefined });
  };
  const stopAll = async () => {
    await Promise.all(servers.map(({ running }) => running?.stop()));
    await own?.drop();
  };
  const urls = servers.map(({ port }) => `http://127.0.0.1:${port}`);
  try {
    await start(0);
    const url = at(urls, 0);
    await register(url);
    await options.prepare?.(url);
    await at(servers, 0).running?.stop();
    await Promise.all(servers.map((_, index) => start(index)));
  } catch (error) {
    await stopAll();
    throw error;
  }
  return {
    urls,
    async kill(index) {
      const { running } = at(servers, index);
      if (running?.pid === undefined) throw new Error('an engine that was given is not killed: unset CONDUCTOR_URL');
      process.kill(-running.pid, 'SIGKILL');
      await running.stop();
    },
    start,
    stop: stopAll,
  };
}

function at<T>(list: readonly T[], index: number): T {
  const found = list[index];
  if (found === undefined) throw new Error(`there is no engine ${index + 1}`);
  return found;
}
