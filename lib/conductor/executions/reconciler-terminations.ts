// Terminations by the reconciler. The engine stores the reason, by which every router recognizes these terminations.

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

type Ending = Pick<ExecutionStatus, 'status' | 'reasonForIncompletion'>;

/** Returns the reason that the engine stores. */
export function terminationReason(fault: Case): string {
  return `${prefix}${reasons[fault]}`;
}

/** Returns true when a reconciler has terminated the execution, not an operator. */
export function isTerminatedByReconciler({ status, reasonForIncompletion = '' }: Ending): boolean {
  return status === 'TERMINATED' && reasonForIncompletion.startsWith(prefix);
}

/** Returns true when the execution was terminated because its worker did not report: its outcome is unknown. */
export function isUnreported(execution: Ending): boolean {
  return isTerminatedFor('outcome_unknown', execution);
}

/**
 * Returns true when the output of the execution is the response to its client: it completed, or was terminated only
 * because the engine did not publish its event. The event comes after the response and does not change it.
 */
export function hasResponse(execution: Ending): boolean {
  return execution.status === 'COMPLETED' || isTerminatedFor('event_stuck', execution);
}

function isTerminatedFor(fault: Case, { status, reasonForIncompletion }: Ending): boolean {
  return status === 'TERMINATED' && reasonForIncompletion === terminationReason(fault);
}
