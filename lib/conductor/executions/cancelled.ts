// Recognizes executions that their clients have cancelled. The engine stores the reason, so that every router and the
// reconciler recognize the execution by it.

import type { ExecutionStatus } from '../types.ts';

/**
 * Nothing was sent to the back end: no worker had received the task when the execution was paused, and no router hands
 * out a task after that, even if it polls the task before the termination.
 */
export const cancelled = 'cancelled by its client';

/**
 * The execution was paused already, so another router may have resumed it in the meantime. If its task was polled, a
 * worker may have it.
 */
export const cancelledWhilePaused = 'cancelled by its client while it was paused';

type Ending = Pick<ExecutionStatus, 'status' | 'reasonForIncompletion'>;

/** Returns true for an execution that its client has cancelled. */
export function isCancelled({ status, reasonForIncompletion = '' }: Ending): boolean {
  return status === 'TERMINATED' && [cancelled, cancelledWhilePaused].includes(reasonForIncompletion);
}

/** Returns true for a cancelled execution whose task no worker has received. */
export function isCancelledUnsent({ status, reasonForIncompletion }: Ending): boolean {
  return status === 'TERMINATED' && reasonForIncompletion === cancelled;
}
