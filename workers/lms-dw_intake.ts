// The worker of task type lms-dw_intake: sends one request to the learning-management data warehouse.

import { createIntake } from './intake.ts';
import type { Worker, WorkerDependencies } from './worker.ts';

/** Creates the intake worker of the data warehouse. Requires `lmsDW.url`. */
export function createLmsDwIntake(dependencies: WorkerDependencies): Worker {
  return {
    taskDefName: 'lms-dw_intake',
    execute: createIntake(dependencies, (_inbound, config) => config['lmsDW.url'] as string),
  };
}
