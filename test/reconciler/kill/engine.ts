// The engine under test: killed without warning, and started again on what it left behind.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDatabase } from '../../../bench/programs/postgresql.ts';
import { postgresqlProperties } from '../../../dev/engine/engine-arguments.ts';
import { type RunningEngine, startEngine } from '../../../dev/engine/start-engine.ts';
import { call } from '../../stack/client.ts';
import { freePort } from '../../stack/free-port.ts';

export type DatabaseKind = 'sqlite' | 'postgresql';

export interface KillableEngine {
  readonly url: string;
  /** SIGKILL to the engine and whatever belongs to it. */
  kill(): Promise<void>;
  /** Resolves when it answers. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

const rootDir = fileURLToPath(new URL('../../..', import.meta.url));

/** Starts it with the definitions registered, twice: it listens to a handler's events from its own start on. */
export async function startKillableEngine(kind: DatabaseKind): Promise<KillableEngine> {
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-kill-'));
  const port = await freePort();
  const database = kind === 'postgresql' ? await createDatabase() : undefined;
  const tuning = database === undefined ? {} : { properties: postgresqlProperties, database: database.server };
  const launch = () => startEngine({ port, stateDir, tuning, say: () => undefined });
  let running: RunningEngine = await launch();
  const engine: KillableEngine = {
    url: running.url,
    async kill() {
      process.kill(-Number(running.pid), 'SIGKILL');
      await running.stop();
    },
    async start() {
      running = await launch();
    },
    async stop() {
      await running.stop();
      await database?.drop();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
  execFileSync(process.execPath, ['cli/main.ts', 'register', '--engine', engine.url], { cwd: rootDir });
  await hastenTimeouts(engine.url);
  await running.stop();
  await engine.start();
  return engine;
}

/** Shorter than some restarts: more PATCHes end with an outcome that nobody knows, and a run is over sooner. */
async function hastenTimeouts(url: string): Promise<void> {
  for (const name of ['college-adaptor_intake', 'mdm_notify', 'mdm_share']) {
    const definition = (await call(`${url}/api/metadata/taskdefs/${name}`)).json();
    const answer = await call(`${url}/api/metadata/taskdefs`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...definition, responseTimeoutSeconds: 15 }),
    });
    if (answer.status !== 200) throw new Error(`${name}: ${answer.status} ${answer.text}`);
  }
}
