// The worker of task type college-adaptor_intake: sends one request to the adaptor of a college.

import { adaptorOf } from './back-end/adaptor-of.ts';
import { createIntake } from './intake.ts';
import type { Worker, WorkerDependencies } from './worker.ts';

/** Creates the worker. Requires `adaptor.<mis>.url` for the requested college, or `adaptor.url`. */
export function createCollegeAdaptorIntake(dependencies: WorkerDependencies): Worker {
  return {
    taskDefName: 'college-adaptor_intake',
    execute: createIntake(dependencies, ({ params }, config) => adaptorOf(params['mis'] ?? '', config)),
  };
}
