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

/**
 * What the engine stores when it evaluates an execution whose tasks a termination has already cancelled, although the
 * execution still runs (`DeciderService.retry`): the termination is in progress, or a kill of the engine interrupted it.
 * The reason for the termination is lost.
 */
const lostReason = /^Task \S+ failed with status: TERMINATED and reason: 'null'$/;

type Ending = Pick<ExecutionStatus, 'status' | 'reasonForIncompletion'>;
type EndingWithOutput = Ending & Pick<ExecutionStatus, 'output'>;

/** Returns the reason that the engine stores. */
export function terminationReason(fault: Case): string {
  return `${prefix}${reasons[fault]}`;
}

/** Returns true when a reconciler has terminated the execution, or may have done so: the reason is lost. */
export function isTerminatedByReconciler(execution: Ending): boolean {
  const { status, reasonForIncompletion = '' } = execution;
  return (status === 'TERMINATED' && reasonForIncompletion.startsWith(prefix)) || isReasonLost(execution);
}

/**
 * Returns true when the execution was terminated because its worker did not report, or for a lost reason before the
 * response was known: the outcome is unknown.
 */
export function isUnreported(execution: EndingWithOutput): boolean {
  return isTerminatedFor('outcome_unknown', execution) || (isReasonLost(execution) && !hasOutbound(execution));
}

/**
 * Returns true when the output of the execution is the response to its client: it completed, or was terminated only
 * because the engine did not publish its event, or for a lost reason after the response was known. The event comes after
 * the response and does not change it.
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
