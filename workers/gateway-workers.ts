// Finds the workers of a gateway: those in its own folder, and those of the product whose task types the gateway
// defines.

import { existsSync, readdirSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { productDir } from '#lib/config/folders.ts';
import { ConfigError } from '#lib/config/load.ts';
import { pools, workers as ofProduct, type WorkerRegistry } from './index.ts';

const ownFile = 'workers/index.ts';

/**
 * Returns the workers by task type. A worker of the gateway replaces the product's worker for the same task type.
 * @param dir folder of the gateway; its `workers/index.ts`, if it exists, exports `workers`
 * @throws ConfigError when `workers/index.ts` cannot be loaded or does not export valid `workers`, or when a worker is
 *   in no pool or in an unknown one
 */
export async function findWorkers(dir: string): Promise<WorkerRegistry> {
  const defined = definedTaskTypes(dir);
  const found: WorkerRegistry = {
    ...Object.fromEntries(Object.entries(ofProduct).filter(([taskType]) => defined.includes(taskType))),
    ...(dir === productDir ? {} : await importOwn(join(dir, ownFile))),
  };
  const problems = poolProblems(found);
  if (problems.length > 0) throw new ConfigError(problems);
  return found;
}

/** Returns the names of the files in `workflows/tasks/`, which are the names of the task types. */
function definedTaskTypes(dir: string): string[] {
  const folder = join(dir, 'workflows/tasks');
  return existsSync(folder) ? readdirSync(folder).map((file) => basename(file, '.json')) : [];
}

async function importOwn(file: string): Promise<WorkerRegistry> {
  if (!existsSync(file)) return {};
  const imported = (await import(pathToFileURL(file).href).catch((error: unknown) => {
    throw new ConfigError([`${ownFile} cannot be loaded: ${describe(error, join(file, '../..'))}`]);
  })) as { workers?: unknown };
  if (isRegistry(imported.workers)) return imported.workers;
  throw new ConfigError([
    `${ownFile} must export workers: an object with create and pools for each task type (docs/how-to/make-a-gateway.md)`,
  ]);
}

/** Returns one message for each pool that does not exist and each worker in no pool: no process runs such workers. */
function poolProblems(registry: WorkerRegistry): string[] {
  const advice = `write ${pools.map((pool) => `'${pool}'`).join(' or ')}`;
  return Object.entries(registry).flatMap(([taskType, { pools: given }]) =>
    given.length === 0
      ? [`${ownFile}: ${taskType} has no pools, so no process would serve it: ${advice}`]
      : given
          .filter((pool) => !pools.includes(pool))
          .map(
            (pool) => `${ownFile}: ${taskType} has the pool ${JSON.stringify(pool)}, which does not exist: ${advice}`,
          ),
  );
}

/** Returns the message of an error, preceded by file and line if Node cannot compile a file. */
function describe(error: unknown, dir: string): string {
  const { message = String(error), stack = '' } = (error ?? {}) as Partial<Error>;
  // Node reports the location of a syntax error in TypeScript, as a path or URL, only in the first line of the stack.
  const [, place, line] = /^((?:file:|\/).+):(\d+)\n/.exec(stack) ?? [];
  if (place === undefined) return message;
  const path = place.startsWith('file:') ? fileURLToPath(place) : place;
  return `${relative(dir, path)}:${line}: ${message}`;
}

function isRegistry(value: unknown): value is WorkerRegistry {
  const isRegistration = (entry: Partial<WorkerRegistry[string]> | null) =>
    typeof entry?.create === 'function' && Array.isArray(entry.pools);
  return typeof value === 'object' && value !== null && Object.values(value).every(isRegistration);
}
