// Recognizes executions that the reconciler has terminated. The engine stores the reason for the termination, so every
// router can recognize them.

import type { ExecutionStatus } from '../types.ts';

const prefix = 'reconciler: ';

/** Reasons why the reconciler terminates executions, by the kind of fault. */
const reasons = {
  event_stuck: 'its event was not published',
  event_lost: 'its event was lost',
  outcome_unknown: 'its worker did not report in time',
  never_scheduled: 'the engine scheduled no task for it',
  never_retried: 'the next attempt of its task was lost',
  share_lost: 'its event was lost',
  unknown_version: 'its workflow version is not known',
} as const;

/** Kinds of faults that the reconciler finds; values of the `case` label of its metrics. */
export type Case = keyof typeof reasons;

/** All kinds of faults. */
export const cases = Object.keys(reasons) as readonly Case[];

/**
 * Reason that the engine stores when it evaluates an execution in the middle of a termination: the tasks are already
 * cancelled, but the execution is still running (`DeciderService.retry`). The termination is still in progress, or the
 * engine was killed during it. The actual reason for the termination is lost.
 */
const lostReason = /^Task \S+ failed with status: TERMINATED and reason: 'null'$/;

type Ending = Pick<ExecutionStatus, 'status' | 'reasonForIncompletion'>;
type EndingWithOutput = Ending & Pick<ExecutionStatus, 'output'>;

/** Returns the reason to store in the engine. */
export function terminationReason(fault: Case): string {
  return `${prefix}${reasons[fault]}`;
}

/**
 * Returns true when a reconciler has terminated the execution. Also returns true when the reason for the termination is
 * lost, because a reconciler may have terminated the execution.
 */
export function isTerminatedByReconciler(execution: Ending): boolean {
  const { status, reasonForIncompletion = '' } = execution;
  return (status === 'TERMINATED' && reasonForIncompletion.startsWith(prefix)) || isReasonLost(execution);
}

/**
 * Returns true when the outcome of the execution is unknown: it was terminated because its worker did not report, or it
 * was terminated before the response was known and the reason is lost.
 */
export function isUnreported(execution: EndingWithOutput): boolean {
  return isTerminatedFor('outcome_unknown', execution) || (isReasonLost(execution) && !hasOutbound(execution));
}

/**
 * Returns true when the output of the execution is the response to its client: the execution completed, it was
 * terminated only because the engine did not publish its event, or it was terminated after the response was known and
 * the reason is lost. The event comes after the response and does not change the response.
 */
export function hasResponse(execution: EndingWithOutput): boolean {
  if (execution.status === 'COMPLETED' || isTerminatedFor('event_stuck', execution)) return true;
  return isReasonLost(execution) && hasOutbound(execution);
}

function isTerminatedFor(fault: Case, { status, reasonForIncompletion }: Ending): boolean {
  return status === 'TERMINATED' && reasonForIncompletion === terminationReason(fault);
}

function isReasonLost({ status, reasonForIncompletion = '' }: Ending): boolean {
  return status === 'TERMINATED' && lostReason.test(reasonForIncompletion);
}

function hasOutbound({ output }: Pick<ExecutionStatus, 'output'>): boolean {
  return (output?.['outbound'] ?? null) !== null;
}
