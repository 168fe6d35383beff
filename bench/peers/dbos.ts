// DBOS: a workflow with one step inside an Express process, on PostgreSQL.

import { versionOf } from './install.ts';
import { movieCall, type Peer } from './peer.ts';
import { startOwnPostgresql } from '../programs/postgresql.ts';
import { startPeerProgram } from './servers.ts';

export const dbos: Peer = {
  name: 'dbos',
  title: 'DBOS',
  setup: `DBOS ${versionOf('@dbos-inc/dbos-sdk')} in one Express process, PostgreSQL`,
  durability: 'start, step, result: fsync',
  isSynced: true,
  async start(run, { backEndUrl }) {
    const { database, pid } = await startOwnPostgresql(run);
    const { host } = new URL(database.url.replace('jdbc:', ''));
    const env = {
      BENCH_BACK_END: backEndUrl,
      BENCH_DATABASE: `postgresql://${database.username}@${host}/bench`,
    };
    const program = await startPeerProgram(run, 'dbos', env);
    return { url: String(program.ready['url']), call: movieCall, pids: [pid, program.pid] };
  },
};
