// Starts a PostgreSQL server for one run, with the default fsync setting, in a folder that the server's user may enter.

import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import postgres from 'postgres';
import type { DatabaseServer } from '../../dev/engine/engine-arguments.ts';
import { pathOf } from '../../test/run/requirements.ts';
import { startPostgresql } from '../../test/stack/postgresql-server.ts';
import { processTree } from '../measure/process-tree.ts';
import type { Run } from '../run.ts';

export interface Postgresql {
  readonly database: DatabaseServer;
  /** The server's main process, which starts a process for each connection. */
  readonly pid: number;
  /** Returns the ids of all processes of the server. */
  processes(): number[];
  /** Returns the current size of the database in bytes. */
  size(): Promise<number>;
  /** Executes a statement in the database. */
  execute(sql: string): Promise<void>;
}

/** Starts the server and stops it when the run ends. @throws Error when PostgreSQL is not installed */
export async function startOwnPostgresql(run: Run): Promise<Postgresql> {
  const program = pathOf('postgres');
  if (program === undefined) throw new Error('there is no postgres on the PATH');
  const dir = mkdtempSync(join(tmpdir(), 'service-router-postgresql-'));
  run.onEnd(() => rmSync(dir, { recursive: true, force: true }));
  // The server runs as another user when this process runs as root.
  chmodSync(dir, 0o711);
  const { process: server, database } = await startPostgresql({ bin: dirname(program), dir });
  run.onEnd(() => server.stop());
  const sql = postgres(database.url.replace('jdbc:', ''), { username: database.username, max: 1, onnotice: () => {} });
  run.onEnd(() => sql.end({ timeout: 1 }));
  const pid = Number(readFileSync(join(dir, 'postgresql/postmaster.pid'), 'utf8').split('\n')[0]);
  return {
    ...{ database, pid },
    processes: () => processTree([pid]),
    size: async () => Number((await sql`SELECT pg_database_size(current_database()) AS bytes`)[0]?.['bytes']),
    async execute(statement) {
      await sql.unsafe(statement);
    },
  };
}
