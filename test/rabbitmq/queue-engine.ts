// An engine that listens to a broker of the suite's own: it can be killed, and started again on what it left behind.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningEngine, startEngine } from '../../dev/engine/start-engine.ts';
import { freePort } from '../stack/free-port.ts';
import { register } from '../stack/prepared-engine.ts';
import { passwordOf } from './broker.ts';

export interface QueueEngine {
  readonly url: string;
  /** Where its database is, for `conductor.databaseURL`. */
  readonly databaseUrl: string;
  /** Resolves when it answers; it may still wait for the broker. Does nothing while it runs. */
  start(): Promise<void>;
  /** SIGKILL to the engine and whatever belongs to it. */
  kill(): Promise<void>;
  /** Everything it has logged so far. */
  log(): string;
  stop(): Promise<void>;
}

/** Prepares an engine on SQLite with the definitions registered; it subscribes to its queues when it is started next. */
export async function createQueueEngine(brokerPort: number): Promise<QueueEngine> {
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-queue-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = (tuning: object) => startEngine({ port, stateDir, tuning, say: () => undefined });
  const updateQueue = {
    CONDUCTOR_EVENTQUEUES_AMQP_HOSTS: `127.0.0.1:${brokerPort}`,
    CONDUCTOR_EVENTQUEUES_AMQP_USERNAME: 'engine',
    SPRING_CONFIG_IMPORT: `configtree:${writeSecrets(stateDir)}/`,
  };
  // Registered first, without the queue: an engine looks for new handlers only once a minute.
  let running: RunningEngine | undefined = await start({});
  await register(url, { MDM_UPDATEQUEUE: 'true' });
  await running.stop();
  running = undefined;
  return {
    url,
    databaseUrl: `sqlite:${join(stateDir, 'engine', 'conductor.db')}`,
    async start() {
      running ??= await start({ updateQueue });
    },
    async kill() {
      if (running === undefined) return;
      process.kill(-Number(running.pid), 'SIGKILL');
      await running.stop();
      running = undefined;
    },
    log: () => readFileSync(join(stateDir, 'logs', 'engine.log'), 'utf8'),
    async stop() {
      await running?.stop();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

/** The password as a file, the way that container platforms mount secrets. */
function writeSecrets(stateDir: string): string {
  const dir = join(stateDir, 'secrets');
  mkdirSync(dir);
  writeFileSync(join(dir, 'conductor.event-queues.amqp.password'), passwordOf('engine'), { mode: 0o600 });
  return dir;
}
