// Restate: its server, whose ingress receives the requests, and a service process with one durable step.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../../dev/setup/ports.mjs';
import type { Run } from '../run.ts';
import { folder, versionOf } from './install.ts';
import type { Peer } from './peer.ts';
import { startPeerProgram, startServer } from './servers.ts';

const call = { method: 'POST', path: '/movies/get', body: JSON.stringify({ title: 'Metropolis' }) } as const;

/** @param fsync false: the log server does not sync its write-ahead log */
export function restate({ fsync }: { fsync: boolean }): Peer {
  const version = versionOf('@restatedev/restate-server');
  return {
    name: fsync ? 'restate' : 'restate-no-fsync',
    title: fsync ? 'Restate' : 'Restate, no fsync',
    setup: `Restate server ${version}, one service process${fsync ? '' : ', `log-server.rocksdb-disable-wal-fsync`'}`,
    isSynced: fsync,
    durability: fsync ? 'start, step, result: fsync' : 'start, step, result: file, no fsync',
    async start(run, { backEndUrl }) {
      const service = await startPeerProgram(run, 'restate-service', { BENCH_BACK_END: backEndUrl });
      const server = await startRestate(run, fsync);
      await register(server.adminUrl, String(service.ready['url']));
      return { url: server.ingressUrl, call, pids: [server.pid, service.pid] };
    },
  };
}

async function startRestate(run: Run, fsync: boolean) {
  const [node, ingress, admin] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const adminUrl = `http://127.0.0.1:${admin}`;
  const pid = await startServer(run, {
    name: 'restate',
    command: findRestate(),
    args: ['--no-logo', '--listen-mode=tcp', '--node-name=bench', '--bind-ip=127.0.0.1', `--bind-port=${node}`],
    env: {
      RESTATE_BASE_DIR: join(run.stateDir, 'restate'),
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      // Otherwise the server would report its version to its vendor.
      RESTATE_DISABLE_TELEMETRY: 'true',
      DO_NOT_TRACK: '1',
      ...(fsync ? {} : { RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC: 'true' }),
    },
    isReady: async () =>
      (await fetch(`${adminUrl}/health`)).ok && (await fetch(`http://127.0.0.1:${ingress}/restate/health`)).ok,
  });
  return { adminUrl, ingressUrl: `http://127.0.0.1:${ingress}`, pid };
}

/** Returns the path of the server, which is in the npm package for this platform. */
function findRestate(): string {
  const file = join(
    folder,
    `node_modules/@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  );
  if (!existsSync(file)) throw new Error(`there is no Restate server for ${process.platform}-${process.arch}`);
  return file;
}

/** Registers the service with the server, which asks the service for its handlers. */
async function register(adminUrl: string, uri: string): Promise<void> {
  const response = await fetch(`${adminUrl}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri }),
  });
  if (!response.ok) throw new Error(`Restate refused the service: ${response.status} ${await response.text()}`);
}
