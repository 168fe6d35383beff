// A PostgreSQL server of a system's own, in a folder that its user may enter, with fsync as it is by default.

import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { DatabaseServer } from '../../dev/engine/engine-arguments.ts';
import { pathOf } from '../../test/run/requirements.ts';
import { startPostgresql } from '../../test/stack/postgresql-server.ts';
import type { Run } from '../run.ts';

export interface Postgresql {
  readonly database: DatabaseServer;
  readonly pid: number;
}

/** Starts it; it ends with the run. @throws Error when PostgreSQL is not installed */
export async function startOwnPostgresql(run: Run): Promise<Postgresql> {
  const program = pathOf('postgres');
  if (program === undefined) throw new Error('there is no postgres on the PATH');
  const dir = mkdtempSync(join(tmpdir(), 'service-router-postgresql-'));
  run.onEnd(() => rmSync(dir, { recursive: true, force: true }));
  // The server runs as another user when this process is root's.
  chmodSync(dir, 0o711);
  const { process: server, database } = await startPostgresql({ bin: dirname(program), dir });
  run.onEnd(() => server.stop());
  const pid = Number(readFileSync(join(dir, 'postgresql/postmaster.pid'), 'utf8').split('\n')[0]);
  return { database, pid };
}
