// Starts a separate PostgreSQL server, which has a new data directory, listens only on loopback and uses fsync as in
// production.

import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { serverProcess } from './server-process.ts';

/** Starts the server with the database `postgres`. */
export async function startPostgresql(options: { bin: string; dir: string }) {
  const { bin, dir } = options;
  const data = join(dir, 'postgresql');
  const owner = ownerOfServer();
  mkdirSync(data);
  if (owner !== undefined) chownSync(data, owner.uid, owner.gid);
  const initdb = ['--pgdata', data, '--username=postgres', '--auth=trust', '--no-locale', '--encoding=UTF8'];
  execFileSync(join(bin, 'initdb'), initdb, { stdio: 'pipe', cwd: data, ...owner });
  const port = await findFreePort();
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', 'max_connections=120'];
  const server = serverProcess({
    name: 'PostgreSQL',
    command: join(bin, 'postgres'),
    args: ['-D', data, ...settings.flatMap((setting) => ['-c', setting])],
    logFile: join(dir, 'postgresql.log'),
    owner,
    isReady: () => acceptsConnections(port),
  });
  await server.start();
  const url = `jdbc:postgresql://127.0.0.1:${port}/postgres`;
  return { process: server, database: { url, username: 'postgres', password: '' } };
}

/**
 * Returns the user for the server; undefined for the current user. PostgreSQL refuses to run as root, so root starts it
 * as the user that the PostgreSQL package created.
 */
function ownerOfServer(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * Returns true when the server accepts connections. Rejects while the server does not respond, or responds with an
 * error because it is still recovering.
 */
async function acceptsConnections(port: number): Promise<boolean> {
  const sql = postgres({ host: '127.0.0.1', port, username: 'postgres', max: 1, connect_timeout: 1 });
  return sql`SELECT 1`.then(() => true).finally(() => sql.end({ timeout: 0 }));
}
