// Real engines for the whole run: the one CONDUCTOR_URL names, else some that are started here; definitions are registered.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { startEngine } from '../../dev/engine/start-engine.ts';
import { withSecondTry } from '../run/second-try.ts';
import { freePort } from '../stack/free-port.ts';
import { countEngines } from './count-engines.ts';
import type { EngineOfRun } from './engine-of-run.ts';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

interface Started extends EngineOfRun {
  readonly stop: () => Promise<unknown>;
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const starts = await Promise.allSettled(
    Array.from({ length: countEngines() }, () => withSecondTry('an engine', start)),
  );
  const engines = starts.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const stop = async () => void (await Promise.all(engines.map((engine) => engine.stop())));
  const failed = starts.find((each) => each.status === 'rejected');
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }
  project.provide(
    'engines',
    engines.map(({ url, stateDir }) => ({ url, stateDir })),
  );
  return stop;
}

async function start(): Promise<Started> {
  const given = process.env['CONDUCTOR_URL'];
  if (given !== undefined) {
    await register(given);
    return { url: given, stateDir: process.env['CONDUCTOR_STATE_DIR'] ?? '', stop: async () => undefined };
  }
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-engine-'));
  const engine = await startEngine({ port: await freePort(), stateDir });
  const stop = async () => {
    await engine.stop();
    rmSync(stateDir, { recursive: true, force: true });
  };
  await register(engine.url).catch(async (error: Error) => {
    await stop();
    throw error;
  });
  return { url: engine.url, stateDir, stop };
}

/** @throws Error with what the command wrote */
async function register(url: string): Promise<void> {
  const child = spawn(process.execPath, ['cli/main.ts', 'register', '--engine', url], { cwd: rootDir });
  const [written, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  if (code !== 0) throw new Error(`definitions were not registered:\n${written}${errors}`);
}
