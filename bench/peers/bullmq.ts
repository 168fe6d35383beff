// BullMQ: an HTTP process that adds a job and waits for it, a worker process, and Redis with an append-only file.

import { mkdirSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { pathOf } from '../../test/run/requirements.ts';
import type { Run } from '../run.ts';
import { versionOf } from './install.ts';
import { movieCall, type Peer } from './peer.ts';
import { startPeerProgram, startServer } from './servers.ts';

/** @param appendfsync Redis's setting: `everysec` is BullMQ's recommendation */
export function bullmq(appendfsync: 'everysec' | 'always'): Peer {
  const isStrict = appendfsync === 'always';
  return {
    name: `bullmq-${appendfsync}`,
    title: isStrict ? 'BullMQ, fsync' : 'BullMQ',
    setup: `BullMQ ${versionOf('bullmq')}, HTTP process, worker with concurrency 128, Redis with \`appendfsync ${appendfsync}\``,
    isSynced: isStrict,
    durability: isStrict ? 'job, result: fsync' : 'job, result: fsync each second',
    async start(run, { backEndUrl }) {
      const redis = await startRedis(run, appendfsync);
      const env = { BENCH_BACK_END: backEndUrl, BENCH_REDIS_PORT: String(redis.port) };
      const worker = await startPeerProgram(run, 'bullmq-worker', env);
      const api = await startPeerProgram(run, 'bullmq-api', env);
      return { url: String(api.ready['url']), call: movieCall, pids: [redis.pid, worker.pid, api.pid] };
    },
  };
}

/** BullMQ's guide, "Going to production": an append-only file, and no eviction. */
async function startRedis(run: Run, appendfsync: string): Promise<{ port: number; pid: number }> {
  const command = pathOf('redis-server');
  if (command === undefined) throw new Error('there is no redis-server on the PATH');
  const port = await findFreePort();
  const dir = join(run.stateDir, 'redis');
  mkdirSync(dir);
  const settings = { port, bind: '127.0.0.1', dir, save: '', appendonly: 'yes', appendfsync };
  const pid = await startServer(run, {
    name: 'redis',
    command,
    args: Object.entries({ ...settings, 'maxmemory-policy': 'noeviction' }).flatMap(([name, value]) => [
      `--${name}`,
      String(value),
    ]),
    isReady: () => accepts(port),
  });
  return { port, pid };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' }, () => settle(true));
    const settle = (isReady: boolean) => {
      socket.destroy();
      resolve(isReady);
    };
    socket.once('error', () => settle(false));
  });
}
