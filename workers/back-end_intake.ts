// The intake workers for back ends that need no code of their own: each key `backEnd.<name>.url` adds one.

import { taskTypeOfBackEnd } from '#lib/config/back-end-name.ts';
import { backEndsOf } from '#lib/config/back-ends.ts';
import type { Config } from '#lib/config/schema.ts';
import { createIntake } from './intake.ts';
import type { Worker, WorkerDependencies } from './worker.ts';

/** Creates the worker of one back end, for the task type `<name>_intake`. Requires `backEnd.<name>.url`. */
export function createBackEndIntake(name: string, dependencies: WorkerDependencies): Worker {
  const base = backEndsOf(dependencies.config)[name] as string;
  return { taskDefName: taskTypeOfBackEnd(name), execute: createIntake(dependencies, () => base) };
}

/** Returns the worker registrations of all back ends that have a URL, by name of the task type. */
export function backEndWorkers(config: Config) {
  const registration = (name: string) => ({
    create: (dependencies: WorkerDependencies) => createBackEndIntake(name, dependencies),
    pools: ['default', 'domain'] as const,
    // Worker processes often share one configuration, so a key `backEnd.<name>.url` does not mean that the back end
    // runs beside a college's workers. In a task domain, this worker therefore runs only when `workers.taskTypes` names
    // it.
    onlyNamedIn: 'domain' as const,
  });
  return Object.fromEntries(
    Object.keys(backEndsOf(config)).map((name) => [taskTypeOfBackEnd(name), registration(name)]),
  );
}
