// Recognizes executions that their clients have cancelled, by the reason for the termination. The engine stores this
// reason, so every router and the reconciler can read it.

import type { ExecutionStatus } from '../types.ts';

/**
 * Returns the reason with which a router terminates a paused execution. The router does so only after it has checked
 * that none of the execution's tasks was polled. The reason includes the time of the last resumption, because a
 * resumption makes the check obsolete. If two routers cancel the execution at once and one of them fails, the failing
 * router resumes the execution, possibly after the other router has checked the execution's tasks.
 */
export function cancellationReason({ lastRetriedTime = 0 }: Pick<ExecutionStatus, 'lastRetriedTime'>): string {
  const reason = 'cancelled by its client';
  return lastRetriedTime === 0 ? reason : `${reason}; last resumed at ${lastRetriedTime}`;
}

/**
 * Returns true when the engine terminated the execution with the current cancellation reason. In this case, no worker
 * has received a task of the execution, even if a router has polled one: the execution was not resumed after its tasks
 * were checked, and routers do not hand out tasks of a paused execution.
 */
export function isCancelled(
  execution: Pick<ExecutionStatus, 'status' | 'reasonForIncompletion' | 'lastRetriedTime'>,
): boolean {
  return execution.status === 'TERMINATED' && execution.reasonForIncompletion === cancellationReason(execution);
}
