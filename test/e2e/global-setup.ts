// Provides real engines with registered definitions for the whole run: the engine at CONDUCTOR_URL, or new engines if
// CONDUCTOR_URL is not set.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startOwnPostgresql } from '../run/postgresql.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { startPreparedEngine } from '../stack/prepared-engine.ts';
import { countEngines } from './count-engines.ts';
import type { EngineOfRun } from './engine-of-run.ts';

interface Started extends EngineOfRun {
  readonly stop: () => Promise<unknown>;
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Vitest's workers inherit this process's environment.
  const postgresql = await startOwnPostgresql();
  Object.assign(process.env, postgresql?.env);
  const starts = await Promise.allSettled(Array.from({ length: countEngines() }, start));
  const engines = starts.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const stop = async () => {
    await Promise.all(engines.map((engine) => engine.stop()));
    await postgresql?.stop();
  };
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
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-engine-'));
  const remove = () => rmSync(stateDir, { recursive: true, force: true });
  const { CONDUCTOR_URL, CONDUCTOR_STATE_DIR = '' } = process.env;
  try {
    const engine = await startPreparedEngine({ port: await findFreePort(), stateDir });
    if (CONDUCTOR_URL === undefined) await warmUp(engine.url);
    return {
      url: engine.url,
      stateDir: CONDUCTOR_URL === undefined ? stateDir : CONDUCTOR_STATE_DIR,
      stop: () => engine.stop().finally(remove),
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Starts and ends an execution, so that the engine loads its classes before the first test. */
async function warmUp(url: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'moviesWF', version: 1, input: {}, taskToDomain: { '*': 'nobody' } });
  const started = await fetch(`${url}/api/workflow`, { method: 'POST', headers, body });
  await fetch(`${url}/api/workflow/${await started.text()}?reason=warm-up`, { method: 'DELETE' });
}
