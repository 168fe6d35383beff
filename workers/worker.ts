// What a worker is: a task type and a function from a task to its outcome. Everything else is given to it.

import type { Task } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';
import type { CallBackEnd } from './back-end/call-back-end.ts';

/** How a task ends, in Conductor's words. Nothing here is retried by the engine: what may be tried again, the worker tries. */
export type TaskOutcome =
  | { status: 'COMPLETED'; outputData: Record<string, unknown> }
  | {
      status: 'FAILED_WITH_TERMINAL_ERROR';
      reasonForIncompletion: string;
      outputData?: Record<string, unknown>;
    }
  /** The engine hands the task out again after `callbackAfterSeconds`. */
  | { status: 'IN_PROGRESS'; callbackAfterSeconds: number; outputData: Record<string, unknown> };

/** One task type. */
export interface Worker {
  /** Name of the task type in Conductor; also the name of the worker's file. */
  readonly taskDefName: string;
  /** @throws TaskFailure when there is no outcome to bring, for a reason the client may read */
  execute(task: Task): Promise<TaskOutcome>;
}

/** What a worker is made from. */
export interface WorkerDependencies {
  readonly config: Config;
  readonly callBackEnd: CallBackEnd;
}
