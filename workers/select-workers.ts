// Selects the task types of this process from the configuration and reports all configuration errors at once.

import { ConfigError } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import { workers, type WorkerRegistration } from './index.ts';

/**
 * Returns the registrations of the configured task types; without `workers.taskTypes`, of all in the process's pool.
 * @throws ConfigError when a name is unknown, a task type is not in this process's pool, or a URL is missing
 */
export function selectWorkers(config: Config): WorkerRegistration[] {
  const known = new Map<string, WorkerRegistration>(Object.entries(workers));
  const pool = config['workers.domain'] === undefined ? 'default' : 'domain';
  const inPool = [...known].filter(([, { pools }]) => pools.includes(pool)).map(([name]) => name);
  const requested = config['workers.taskTypes'].length > 0 ? config['workers.taskTypes'] : inPool;
  const problems = requested.filter((name) => !inPool.includes(name)).map((name) => describeProblem(name, known, pool));
  const selected = [...known].filter(([name]) => requested.includes(name)).map(([, registration]) => registration);
  const needed = new Set(selected.flatMap(({ needs }) => (needs === undefined ? [] : [needs])));
  for (const key of needed) if (config[key] === undefined) problems.push(`${key} is not set: the workers need it`);
  if (problems.length > 0) throw new ConfigError(problems);
  return selected;
}

function describeProblem(
  name: string,
  known: ReadonlyMap<string, WorkerRegistration>,
  pool: 'default' | 'domain',
): string {
  if (!known.has(name))
    return `workers.taskTypes: ${name} is not a task type; known are ${[...known.keys()].join(', ')}`;
  return pool === 'domain'
    ? `workers.taskTypes: ${name} has no tasks in a domain: leave workers.domain empty`
    : `workers.taskTypes: ${name} has tasks in domains only: set workers.domain`;
}
