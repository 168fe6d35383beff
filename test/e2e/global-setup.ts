// One real engine for the whole run: the one CONDUCTOR_URL names, else one started here; definitions are registered.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { freePort } from '../stack/free-port.ts';
import { startEngine } from '../../dev/engine/start-engine.ts';

declare module 'vitest' {
  interface ProvidedContext {
    engineUrl: string;
    /** Where the engine keeps its database and its log; of a given one, CONDUCTOR_STATE_DIR. */
    engineStateDir: string;
  }
}

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-engine-'));
  const given = process.env['CONDUCTOR_URL'];
  const engine =
    given === undefined
      ? await startEngine({ port: await freePort(), stateDir })
      : { url: given, stop: async () => undefined };
  const command = ['cli/main.ts', 'register', '--engine', engine.url];
  const register = spawnSync(process.execPath, command, { cwd: rootDir, encoding: 'utf8' });
  if (register.status !== 0) {
    await engine.stop();
    throw new Error(`definitions were not registered:\n${register.stdout}${register.stderr}`);
  }
  project.provide('engineUrl', engine.url);
  project.provide('engineStateDir', given === undefined ? stateDir : (process.env['CONDUCTOR_STATE_DIR'] ?? ''));
  return async () => {
    await engine.stop();
    rmSync(stateDir, { recursive: true, force: true });
  };
}
