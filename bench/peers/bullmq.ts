// BullMQ: an HTTP process that adds a job and waits for it, a worker process, and Redis with an append-only file.

import { launchRedisServer } from '../../dev/engine/redis-server.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { openProgramLog } from '../../dev/stack/program-log.ts';
import { pathOf } from '../../test/run/requirements.ts';
import type { Run } from '../run.ts';
import { versionOf } from './install.ts';
import { movieCall, type Peer } from './peer.ts';
import { startPeerProgram } from './servers.ts';

/** @param appendfsync the Redis setting; BullMQ recommends `everysec` */
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

/** Starts Redis as BullMQ's guide "Going to production" recommends: with an append-only file and no eviction. */
async function startRedis(run: Run, appendfsync: string): Promise<{ port: number; pid: number }> {
  const command = pathOf('redis-server');
  if (command === undefined) throw new Error('there is no redis-server on the PATH');
  const { stateDir } = run;
  const port = await findFreePort();
  const output = openProgramLog({ stateDir, program: 'redis' });
  const settings = { appendfsync, 'maxmemory-policy': 'noeviction' };
  const server = launchRedisServer({ command, port, stateDir, output, settings });
  run.onEnd(() => server.stop());
  await server.ready;
  return { port, pid: server.pid as number };
}
