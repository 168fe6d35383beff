// A Redis of this run's own, with an append-only file as in production: killed, it keeps what it was told.

import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../stack/free-port.ts';
import { type ServerProcess, serverProcess } from './server-process.ts';

export interface RedisServer {
  readonly process: ServerProcess;
  readonly url: string;
}

export async function startRedis(options: { command: string; dir: string }): Promise<RedisServer> {
  const data = join(options.dir, 'redis');
  mkdirSync(data, { recursive: true });
  const port = await freePort();
  const settings = { port, bind: '127.0.0.1', dir: data, save: '', appendonly: 'yes', appendfsync: 'everysec' };
  const server = serverProcess({
    name: 'Redis',
    command: options.command,
    args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
    logFile: join(options.dir, 'redis.log'),
    isReady: () => answersPing(port),
  });
  await server.start();
  return { process: server, url: `redis://127.0.0.1:${port}` };
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write('PING\r\n'));
    const settle = (isUp: boolean) => {
      socket.destroy();
      resolve(isUp);
    };
    socket.setTimeout(1_000, () => settle(false));
    socket.once('data', (answer) => settle(answer.toString('latin1') === '+PONG\r\n'));
    socket.once('error', () => settle(false));
  });
}
