// An engine that starts on a copy of a database in which everything is registered.
//
// The copy is kept between runs, by what was registered. An engine that finds its event handlers at its start listens to
// their queues at once, not within a minute.

import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { engineRelease } from '../../dev/engine/release.ts';
import { type EngineOptions, type RunningEngine, startEngine } from '../../dev/engine/start-engine.ts';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));
const registered = ['workflows/**/*.json', 'event-handlers/**/*.json', 'lib/conductor/**/*.{ts,properties}'];

/** Starts an engine on SQLite with the definitions registered. @throws Error with what `register` wrote */
export async function startPreparedEngine(options: EngineOptions): Promise<RunningEngine> {
  const database = join(options.stateDir, 'engine', 'conductor.db');
  const prepared = join(preparedFolder(), 'conductor.db');
  const isPrepared = existsSync(prepared);
  if (isPrepared) {
    mkdirSync(dirname(database), { recursive: true });
    copyFileSync(prepared, database);
  }
  const engine = await startEngine(options);
  try {
    if (!isPrepared || engine.pid === undefined) await register(engine.url);
    if (!isPrepared && existsSync(database)) keepCopy(database, prepared);
    return engine;
  } catch (error) {
    await engine.stop();
    throw error;
  }
}

/** Registers the definitions at an engine. @throws Error with what the command wrote */
export async function register(url: string, env: Record<string, string> = {}): Promise<void> {
  const command = ['cli/main.ts', 'register', '--engine', url];
  await promisify(execFile)(process.execPath, command, { cwd: rootDir, env: { ...process.env, ...env } });
}

/** Returns the folder of the copy for these definitions and this release of the engine; the copy is `conductor.db`. */
export function preparedFolder(): string {
  const digest = createHash('sha256').update(engineRelease.version);
  for (const file of globSync(registered, { cwd: rootDir }).toSorted())
    digest.update(file).update(readFileSync(join(rootDir, file)));
  return join(rootDir, 'node_modules/.cache/engine', digest.digest('hex'));
}

/** Copies the database of a running engine. The copy gets its name last, so a copy with its name is complete. */
function keepCopy(database: string, copy: string): void {
  mkdirSync(dirname(copy), { recursive: true });
  const draft = `${copy}.${randomUUID()}`;
  const source = new DatabaseSync(database, { readOnly: true });
  source.prepare('VACUUM INTO ?').run(draft);
  source.close();
  renameSync(draft, copy);
}
