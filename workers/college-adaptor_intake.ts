// Task type college-adaptor_intake: one request to the adaptor of a college.

import { adaptorOf } from './back-end/adaptor-of.ts';
import { createIntake } from './intake.ts';
import type { Worker, WorkerDependencies } from './worker.ts';

/** Needs `adaptor.<mis>.url` of the college that is asked for, or `adaptor.url`. */
export function createCollegeAdaptorIntake(dependencies: WorkerDependencies): Worker {
  return {
    taskDefName: 'college-adaptor_intake',
    execute: createIntake(dependencies, ({ params }, config) => adaptorOf(params['mis'] ?? '', config)),
  };
}
