// Starts a Redis server for one test, and lets the test suspend, resume, kill and restart it.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'redis';
import { pathOf } from '../run/requirements.ts';
import { redisArguments, redisUrlOf } from '../../dev/engine/redis-server.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { serverProcess } from './server-process.ts';

/**
 * Each command uses a duplicate of this client. A call to `createClient` with options that differ from those of the
 * previous call would create a class with all commands, which takes 30 ms.
 */
const template = createClient({ socket: { connectTimeout: 1_000, reconnectStrategy: false } });

/** When Redis syncs its append-only file: `always`, before it acknowledges a write; `everysec`, once a second. */
export type AppendFsync = 'everysec' | 'always';

export interface RedisServerOptions {
  /** Folder of the data, which is removed with the server. Default: a new one. */
  readonly dir?: string;
  /** Default: `everysec`, as in production. A killed server may then lose the writes of its last two seconds. */
  readonly appendfsync?: AppendFsync | undefined;
}

/** Starts a server on a free port, with an append-only file. @throws Error when the machine has no redis-server */
export async function startRedisServer(options: RedisServerOptions = {}) {
  const command = pathOf('redis-server');
  if (command === undefined) throw new Error('redis-server is not installed');
  const { dir = mkdtempSync(join(tmpdir(), 'service-router-redis-')), appendfsync } = options;
  mkdirSync(dir, { recursive: true });
  const port = await findFreePort();
  const url = redisUrlOf(port);
  const send = async (...parts: string[]): Promise<unknown> => {
    const client = template.duplicate({ url });
    // The failed call reports the same error.
    client.on('error', () => undefined);
    await client.connect();
    return client.sendCommand(parts).finally(() => client.destroy());
  };
  const server = serverProcess({
    name: 'Redis',
    command,
    args: redisArguments({ port, dir, ...(appendfsync === undefined ? {} : { appendfsync }) }),
    logFile: join(dir, 'redis.log'),
    isReady: async () => (await send('PING')) === 'PONG',
  });
  await server.start();
  return {
    url,
    /** Sends one command over a separate connection and returns the reply. */
    command: send,
    /** Suspends the server (SIGSTOP): connections stay open, but it does not respond. */
    hang: () => server.signal('SIGSTOP'),
    /** Resumes the server (SIGCONT). */
    resume: () => server.signal('SIGCONT'),
    /** Sends SIGKILL; resolves when the server has ended. */
    kill: () => server.kill(),
    /** Restarts the server on the same port, with its data. */
    restart: () => server.start(),
    /** Returns how often a command was executed since the start, including within scripts. */
    async calls(name: string) {
      const stats = String(await send('INFO', 'commandstats'));
      return Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
    },
    async stop() {
      // A suspended process does not act on SIGINT until it is resumed.
      server.signal('SIGCONT');
      await server.stop();
      rmSync(dir, { recursive: true });
    },
  };
}

export type RedisServer = Awaited<ReturnType<typeof startRedisServer>>;
