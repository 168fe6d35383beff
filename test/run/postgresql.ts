// A separate PostgreSQL server for one run. Tests that create databases use it instead of the server on the standard
// port.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startPostgresql } from '../stack/postgresql-server.ts';
import { depthOfRun } from './depth.ts';
import { pathOf } from './requirements.ts';

export interface OwnPostgresql {
  /** Environment variables with its address, for psql and the tests. */
  readonly env: Readonly<Record<'PGHOST' | 'PGPORT' | 'PGUSER', string>>;
  stop(): Promise<void>;
}

/**
 * Starts the server at full depth. Returns undefined when it is not needed or not installed, or PGHOST names another
 * server.
 */
export async function startOwnPostgresql(env: NodeJS.ProcessEnv = process.env): Promise<OwnPostgresql | undefined> {
  const program = pathOf('postgres');
  if (depthOfRun(env) !== 'full' || program === undefined || env['PGHOST'] !== undefined) return undefined;
  const dir = mkdtempSync(join(tmpdir(), 'service-router-postgresql-'));
  // The server runs as another user when this process runs as root.
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
