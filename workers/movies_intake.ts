// The worker of task type movies_intake: sends one request to the movies prototype.

import { createIntake } from './intake.ts';
import type { Worker, WorkerDependencies } from './worker.ts';

/** Creates the intake worker of the movie service. Requires `movies.url`. */
export function createMoviesIntake(dependencies: WorkerDependencies): Worker {
  return {
    taskDefName: 'movies_intake',
    execute: createIntake(dependencies, (_inbound, config) => config['movies.url'] as string),
  };
}
