// Runs the stack's own Redis server, for the engine and the router, with an append-only file that is synced every
// second by default.

import { accessSync, constants, mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type Child, startChild } from '../stack/child.ts';
import { engineEnvironment } from './engine-arguments.ts';

/** How to run the server. */
export interface RedisServerOptions {
  /** Path of the program. */
  readonly command: string;
  /** TCP port on 127.0.0.1. */
  readonly port: number;
  /** State directory; the data is in its folder `redis`. */
  readonly stateDir: string;
  /** Receives the server's log. */
  readonly output: Writable;
  /** Redis settings by name, which extend or replace the default ones. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Longest start time in milliseconds: the server reads its whole append-only file. */
const startDeadlineMs = 60_000;

/** Returns the path of redis-server. @throws Error that says what to do when it is not on the PATH */
export function findRedisServer(path: string | undefined = process.env['PATH']): string {
  const found = (path ?? '').split(delimiter).map((folder) => join(folder, 'redis-server'));
  const command = found.find(isExecutable);
  if (command !== undefined) return command;
  throw new Error(
    [
      'An engine on Redis needs redis-server 7.0 or newer, which is not on the PATH.',
      'Do one of these:',
      '  - install it: apt-get install redis-server, dnf install redis, or brew install redis',
      '  - leave out --store redis: the engine then runs on SQLite, which needs nothing else',
      'An engine that is already running can be used with CONDUCTOR_URL=http://host:port.',
    ].join('\n'),
  );
}

/**
 * Starts the server. `ready` resolves with `{ url }` once the server has read its data. The server ends with this
 * process.
 */
export function launchRedisServer({ command, port, stateDir, output, settings }: RedisServerOptions): Child {
  const dir = join(stateDir, 'redis');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return startChild({
    command,
    args: redisArguments({ port, dir, ...settings }),
    env: engineEnvironment(process.env),
    output,
    async waitUntilReady(signal) {
      const deadline = performance.now() + startDeadlineMs;
      while (!(await respondsToPing(port))) {
        if (performance.now() > deadline) throw new Error(`redis-server on port ${port} does not respond`);
        await delay(20, undefined, { signal });
      }
      return { url: redisUrlOf(port) };
    },
  });
}

/**
 * Returns the arguments of redis-server: on loopback, with an append-only file that is synced every second.
 * @param settings Redis settings by name, which extend or replace the default ones
 */
export function redisArguments(settings: Readonly<Record<string, string | number>>): string[] {
  const usual = { bind: '127.0.0.1', save: '', appendonly: 'yes', appendfsync: 'everysec' };
  return Object.entries({ ...usual, ...settings }).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

/** Returns the URL of the server on this port. */
export function redisUrlOf(port: number): string {
  return `redis://127.0.0.1:${port}`;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Resolves to true when the server responds to PING; false while it does not listen or is loading its data
 * (`-LOADING`).
 */
function respondsToPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write('PING\r\n'));
    const settle = (isReady: boolean) => {
      socket.destroy();
      resolve(isReady);
    };
    socket.setTimeout(1_000, () => settle(false));
    socket.once('data', (reply) => settle(reply.toString('latin1') === '+PONG\r\n'));
    socket.once('error', () => settle(false));
  });
}
