// The interface of a worker: a task type and a function that turns a task into its outcome.

import type { Task } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';
import type { CallBackEnd } from './back-end/call-back-end.ts';

/**
 * The result of a task, with Conductor's status names. None of these statuses makes the engine retry the task,
 * because workers repeat failed calls themselves.
 */
export type TaskOutcome =
  | { status: 'COMPLETED'; outputData: Record<string, unknown> }
  | {
      status: 'FAILED_WITH_TERMINAL_ERROR';
      reasonForIncompletion: string;
      outputData?: Record<string, unknown>;
    }
  /** The engine returns the task to its queue; workers get it again after `callbackAfterSeconds`. */
  | { status: 'IN_PROGRESS'; callbackAfterSeconds: number; outputData: Record<string, unknown> };

/** A worker of one task type. */
export interface Worker {
  /** Name of the task type in Conductor, and key of the worker in its `WorkerRegistry`. */
  readonly taskDefName: string;
  /** Runs the task. @throws TaskFailure when the task has no result; the client may see the message */
  execute(task: Task): Promise<TaskOutcome>;
}

/** Dependencies that the factory of a worker receives. */
export interface WorkerDependencies {
  readonly config: Config;
  readonly callBackEnd: CallBackEnd;
}
