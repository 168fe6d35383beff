// Starts an engine on a copy of a database in which all definitions are registered.
//
// The database is kept between runs, in a folder whose name is the digest of the definitions. An engine that finds
// event handlers at its start listens to their queues at once instead of within a minute.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { engineRelease } from '../../dev/engine/release.ts';
import { type EngineOptions, type RunningEngine, startEngine } from '../../dev/engine/start-engine.ts';
import { acquireLock } from '../../dev/setup/lock.mjs';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));
const registered = [
  ...['workflows/**/*.json', 'event-handlers/**/*.json', 'config/default.properties'],
  'lib/conductor/**/*.{ts,properties}',
];

/** Starts an engine on SQLite with registered definitions. @throws Error with the output of `register` */
export async function startPreparedEngine(options: EngineOptions): Promise<RunningEngine> {
  const isGiven = process.env['CONDUCTOR_URL'] !== undefined;
  const isPrepared = !isGiven && (await prepare(options.port));
  if (isPrepared) {
    const folder = join(options.stateDir, 'engine');
    mkdirSync(folder, { recursive: true });
    copyFileSync(join(preparedFolder(), 'conductor.db'), join(folder, 'conductor.db'));
  }
  const engine = await startEngine(options);
  if (!isPrepared) {
    await register(engine.url).catch(async (error: Error) => {
      await engine.stop();
      throw error;
    });
  }
  return engine;
}

/**
 * Creates the database with a temporary engine unless the database already exists. Returns false when the temporary
 * engine does not keep its data in a file that can be copied.
 */
async function prepare(port: number): Promise<boolean> {
  const copy = join(preparedFolder(), 'conductor.db');
  if (existsSync(copy)) return true;
  mkdirSync(dirname(copy), { recursive: true });
  const release = await acquireLock(join(preparedFolder(), 'lock'), { onWait: () => undefined });
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-prepare-'));
  const database = join(stateDir, 'engine', 'conductor.db');
  try {
    if (existsSync(copy)) return true;
    const engine = await startEngine({ port, stateDir });
    await register(engine.url).finally(() => engine.stop());
    if (existsSync(database)) keepCopy(database, copy);
    return existsSync(copy);
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
    await release();
  }
}

/** Registers the definitions with an engine. @throws Error with the output of the command */
export async function register(url: string, env: Record<string, string> = {}): Promise<void> {
  const command = ['cli/main.ts', 'register', '--engine', url];
  await promisify(execFile)(process.execPath, command, { cwd: rootDir, env: { ...process.env, ...env } });
}

/** Returns the folder of `conductor.db` for the current definitions and release of the engine. */
export function preparedFolder(): string {
  const digest = createHash('sha256').update(engineRelease.version);
  for (const file of globSync(registered, { cwd: rootDir }).toSorted())
    digest.update(file).update(readFileSync(join(rootDir, file)));
  return join(rootDir, 'node_modules/.cache/engine', digest.digest('hex'));
}

/**
 * Writes a single-file copy that includes the content of the write-ahead log. The copy gets its final name last, so
 * that a file with this name is always complete.
 */
function keepCopy(database: string, copy: string): void {
  const draft = `${copy}.draft`;
  rmSync(draft, { force: true });
  const source = new DatabaseSync(database);
  source.prepare('VACUUM INTO ?').run(draft);
  source.close();
  renameSync(draft, copy);
}
