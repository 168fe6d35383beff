// A PostgreSQL server of a run's own, for every test that makes a database: never the one on the standard port.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startPostgresql } from '../stack/postgresql-server.ts';
import { depthOfRun } from './depth.ts';
import { pathOf } from './requirements.ts';

export interface OwnPostgresql {
  /** Where it listens, as psql and the tests read it. */
  readonly env: Readonly<Record<'PGHOST' | 'PGPORT' | 'PGUSER', string>>;
  stop(): Promise<void>;
}

/** Starts it in full depth; undefined when nothing needs it, it is not installed, or PGHOST names another one. */
export async function startOwnPostgresql(env: NodeJS.ProcessEnv = process.env): Promise<OwnPostgresql | undefined> {
  const program = pathOf('postgres');
  if (depthOfRun(env) !== 'full' || program === undefined || env['PGHOST'] !== undefined) return undefined;
  const dir = mkdtempSync(join(tmpdir(), 'service-router-postgresql-'));
  // The server runs as another user when this process is root's.
  chmodSync(dir, 0o711);
  const server = await startPostgresql({ bin: dirname(program), dir });
  const { hostname, port } = new URL(server.database.url.replace('jdbc:', ''));
  return {
    env: { PGHOST: hostname, PGPORT: port, PGUSER: server.database.username },
    async stop() {
      await server.process.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
