// A Redis server of a test's own, which it may stop, continue, kill and start again.

import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createClient } from 'redis';
import { startRedis } from '../cluster/redis.ts';

export interface RedisServer {
  readonly url: string;
  /** Hangs: connections stay open and nothing is answered (SIGSTOP). */
  hang(): void;
  /** Ends a hang (SIGCONT). */
  resume(): void;
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>;
  /** Starts it again on the same port, with its data. */
  restart(): Promise<void>;
  /** Asks it over a connection of its own: the reply to one command. */
  command(...parts: string[]): Promise<unknown>;
  /** How often it was given a command since its start, inside scripts included. */
  calls(command: string): Promise<number>;
  stop(): Promise<void>;
}

const program = findProgram('redis-server');

/** Whether this machine has the program; when it has not, one line on standard error says what is skipped. */
export function hasRedisServer(what: string): boolean {
  if (program === undefined) process.stderr.write(`skipped: ${what}. It needs redis-server on the PATH\n`);
  return program !== undefined;
}

/** Starts one on a free port. @throws Error when the machine has no redis-server */
export async function startRedisServer(): Promise<RedisServer> {
  if (program === undefined) throw new Error('no redis-server on the PATH');
  const dir = mkdtempSync(join(tmpdir(), 'service-router-redis-'));
  const { process: server, url } = await startRedis({ command: program, dir });
  const command = async (...parts: string[]) => {
    const client = createClient({ url });
    await client.connect();
    return client.sendCommand(parts).finally(() => client.destroy());
  };
  return {
    ...{ url, command },
    hang: () => server.signal('SIGSTOP'),
    resume: () => server.signal('SIGCONT'),
    kill: () => server.kill(),
    restart: () => server.start(),
    async calls(name) {
      const stats = String(await command('INFO', 'commandstats'));
      return Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
    },
    async stop() {
      // A stopped process does not act on another signal.
      server.signal('SIGCONT');
      await server.stop();
      rmSync(dir, { recursive: true });
    },
  };
}

/** The first executable file of this name on the PATH. */
function findProgram(name: string): string | undefined {
  const files = (process.env['PATH'] ?? '').split(delimiter).map((dir) => join(dir, name));
  return files.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
