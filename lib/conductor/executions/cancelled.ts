// Recognizes executions that their clients have cancelled. The engine stores the reason, so that every router and the
// reconciler recognize the execution by it.

import type { ExecutionStatus } from '../types.ts';

/**
 * Returns the reason with which a paused execution is terminated after a check has found that none of its tasks was
 * polled. It names the last resumption, because another router, whose own cancellation fails, may resume the execution
 * after that check.
 */
export function cancellationReason({ lastRetriedTime = 0 }: Pick<ExecutionStatus, 'lastRetriedTime'>): string {
  const reason = 'cancelled by its client';
  return lastRetriedTime === 0 ? reason : `${reason}; last resumed at ${lastRetriedTime}`;
}

/**
 * Returns true for a cancelled execution whose task no worker has received, even if a router has polled it: the
 * execution was not resumed between the check of its tasks and its end, and no router hands out a task of a paused
 * execution.
 */
export function isCancelled(
  execution: Pick<ExecutionStatus, 'status' | 'reasonForIncompletion' | 'lastRetriedTime'>,
): boolean {
  return execution.status === 'TERMINATED' && execution.reasonForIncompletion === cancellationReason(execution);
}
