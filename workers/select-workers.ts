// Selects the task types of this process from the configuration and reports all configuration errors at once.

import { isBackEndName } from '#lib/config/back-end-name.ts';
import { keyOfBackEnd } from '#lib/config/back-ends.ts';
import { ConfigError } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import { backEndWorkers } from './back-end_intake.ts';
import { workers, type WorkerRegistration, type WorkerRegistry } from './index.ts';

type Pool = WorkerRegistration['pools'][number];

/** A registration with the task type under which it is registered. */
export interface SelectedWorker extends WorkerRegistration {
  readonly taskType: string;
}

/**
 * Returns the registrations of the task types in `workers.taskTypes`. When this list is empty, returns the
 * registrations of all task types in the process's pool that do not have to be named (`onlyNamedIn`). Returns an empty
 * list when the gateway has no task type for the pool.
 * @param own the workers with a file of their own: those that `findWorkers` returns for the gateway
 * @throws ConfigError when a name is unknown, a task type is not in this process's pool, a URL is missing, or no task
 *   type is named although the pool serves only named task types
 */
export function selectWorkers(config: Config, own: WorkerRegistry = workers): SelectedWorker[] {
  const known = new Map<string, WorkerRegistration>(Object.entries({ ...backEndWorkers(config), ...own }));
  const pool = config['workers.domain'] === undefined ? 'default' : 'domain';
  const inPool = [...known].filter(([, { pools }]) => pools.includes(pool));
  const usual = inPool.filter(([, { onlyNamedIn }]) => onlyNamedIn !== pool);
  const named = config['workers.taskTypes'];
  const selected = named.length === 0 ? usual : inPool.filter(([name]) => named.includes(name));
  const problems = named
    .filter((name) => !inPool.some(([other]) => other === name))
    .map((name) => `workers.taskTypes: ${describeProblem(name, known, pool)}`);
  if (selected.length === 0 && problems.length === 0 && inPool.length > 0)
    problems.push(
      `workers.taskTypes is empty, and this pool serves only task types that are named there: name one or more of ${inPool.map(([name]) => name).join(', ')}`,
    );
  const needed = new Set(selected.flatMap(([, { needs }]) => (needs === undefined ? [] : [needs])));
  for (const key of needed) if (config[key] === undefined) problems.push(`${key} is not set: the workers need it`);
  if (problems.length > 0) throw new ConfigError(problems);
  return selected.map(([taskType, registration]) => ({ taskType, ...registration }));
}

function describeProblem(name: string, known: ReadonlyMap<string, unknown>, pool: Pool): string {
  if (known.has(name)) {
    return pool === 'domain'
      ? `${name} runs only in the default pool: leave workers.domain empty`
      : `${name} runs only in task domains: set workers.domain`;
  }
  const backEnd = /^(.+)_intake$/.exec(name)?.[1] ?? '';
  const address = isBackEndName(backEnd) ? `; to add a back end named ${backEnd}, set ${keyOfBackEnd(backEnd)}` : '';
  return `${name} is not a task type; the known ones are ${[...known.keys()].join(', ')}${address}`;
}
