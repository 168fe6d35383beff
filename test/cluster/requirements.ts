// Where the programs of the servers are that tests start for themselves (test/run/requirements.ts looks for them).

import { dirname } from 'node:path';
import { pathOf } from '../run/requirements.ts';

export { findProgram } from '../run/requirements.ts';

/** Path of redis-server. */
export const findRedisServer = () => pathOf('redis-server');

/** Directory with `initdb` and `postgres`. */
export function findPostgresqlBin(): string | undefined {
  const server = pathOf('postgres');
  return server === undefined ? undefined : dirname(server);
}
