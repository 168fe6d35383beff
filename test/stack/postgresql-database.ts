// Creates a temporary database on the PostgreSQL server to which psql connects.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { DatabaseServer } from '../../dev/engine/engine-arguments.ts';

/** The environment variables of psql. The defaults name the usual server of a development machine. */
const { PGHOST = '127.0.0.1', PGPORT = '5432', PGUSER = 'postgres', PGPASSWORD = '' } = process.env;

export interface Database {
  /** Address and credentials for the engine. */
  readonly server: DatabaseServer;
  /** Removes the database and closes every connection to it. */
  drop(): Promise<void>;
}

/** Creates a database. @throws Error with psql's output when there is no server or no psql */
export async function createDatabase(): Promise<Database> {
  const name = `service_router_${randomBytes(4).toString('hex')}`;
  await query(`CREATE DATABASE ${name}`);
  return {
    server: { url: `jdbc:postgresql://${PGHOST}:${PGPORT}/${name}`, username: PGUSER, password: PGPASSWORD },
    drop: () => query(`DROP DATABASE ${name} WITH (FORCE)`),
  };
}

async function query(sql: string): Promise<void> {
  const args = ['--no-psqlrc', '--quiet', '--dbname=postgres', `--command=${sql}`];
  const env = { ...process.env, PGHOST, PGPORT, PGUSER };
  await promisify(execFile)('psql', args, { env });
}
