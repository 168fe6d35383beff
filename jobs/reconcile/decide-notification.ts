// Decides what is missing for executions of mdmWF, mdm-updateWF and mdm-shareWF: shares that MDM requested, lost tasks.

import type { WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import {
  type Decision,
  type DecisionContext,
  eventTasks,
  hasNoTasks,
  hasElapsed,
  isMissingRetry,
  isOverdue,
  lastTask,
  scopeOf,
  settled,
  waiting,
} from './decision.ts';
import { notifyTask } from './mdm-definitions.ts';

/**
 * Decides for an execution of mdmWF, the notification of MDM.
 * @param shares the executions of mdm-shareWF with the same correlation id
 * @throws UnknownVersion when the definitions do not contain its version
 */
export function decideNotification(
  execution: WholeExecution,
  shares: readonly WholeExecution[],
  context: DecisionContext,
): Decision {
  if (hasNoTasks(execution)) {
    return hasElapsed(execution.startTime, context) ? replace(execution) : waiting;
  }
  if (isMissingRetry(execution, context)) return retryLost(execution);
  const running = !hasEnded(execution);
  const notified = lastTask(execution, notifyTask);
  // A repeated call is safe: MDM and the adaptors detect it by its idempotency key.
  if (running && isOverdue(notified, context)) return resumeOverdue(execution);
  // The task still waits for MDM, or has failed, which the status of the execution shows.
  if (notified?.status !== 'COMPLETED') return running ? waiting : settled;
  if (!hasElapsed(running ? notified.endTime : execution.endTime, context)) return waiting;
  const missing = missingShares(execution, context).filter(
    ({ input }) => !shares.some((share) => hasInput(share.input, input)),
  );
  const broken = eventTasks(execution, ['CANCELED', 'FAILED']).length;
  // An event that fails again is not retried: the executions that it should have started are started directly.
  if (running && broken > 0) return { kind: 'replace', case: 'event_stuck', requests: missing };
  if (running || (broken === 1 && execution.status !== 'COMPLETED')) {
    return { kind: 'resume', case: 'event_stuck', fallback: missing };
  }
  return missing.length === 0 ? settled : { kind: 'start', case: 'share_lost', requests: missing };
}

/**
 * Decides for an execution of mdm-updateWF, the record of a message of MDM's queue. The engine starts the record and the
 * share with one event handler each.
 * @param shares the executions of mdm-shareWF with the same correlation id
 */
export function decideUpdate(
  execution: WholeExecution,
  shares: readonly WholeExecution[],
  context: DecisionContext,
): Decision {
  if (!hasElapsed(execution.startTime, context)) return waiting;
  const share = context.mdmDefinitions.shareForUpdate(execution.input);
  const requests = share === null || shares.some(({ input }) => hasInput(input, share.input)) ? [] : [share];
  // The workflow never waits, so a running execution is left over from an engine that was killed.
  if (!hasEnded(execution)) return { kind: 'replace', case: 'never_scheduled', requests };
  return requests.length === 0 ? settled : { kind: 'start', case: 'share_lost', requests };
}

/** Decides for an execution of mdm-shareWF: its task may never have been scheduled, or its worker may have died. */
export function decideShare(execution: WholeExecution, context: DecisionContext): Decision {
  if (isMissingRetry(execution, context)) return retryLost(execution);
  if (hasEnded(execution)) return settled;
  if (execution.tasks.some((task) => isOverdue(task, context))) return resumeOverdue(execution);
  return hasNoTasks(execution) && hasElapsed(execution.startTime, context) ? replace(execution) : waiting;
}

function resumeOverdue(execution: WholeExecution): Decision {
  return { kind: 'resume', case: 'outcome_unknown', fallback: [restartRequest(execution)] };
}

/** A repeated attempt is safe, as after a time-out: MDM and the adaptors detect it by its idempotency key. */
function retryLost(execution: WholeExecution): Decision {
  return { kind: 'resume', case: 'never_retried', fallback: [restartRequest(execution)] };
}

/** Restarts an execution without tasks: nothing else would start it. */
function replace(execution: WholeExecution): Decision {
  return { kind: 'replace', case: 'never_scheduled', requests: [restartRequest(execution)] };
}

/** Returns a request that starts the same execution again. */
function restartRequest({
  workflowName,
  workflowVersion,
  correlationId,
  ...execution
}: WholeExecution): StartWorkflowRequest {
  return {
    name: workflowName,
    version: workflowVersion,
    ...(correlationId === undefined ? {} : { correlationId }),
    input: { ...execution.input },
    taskToDomain: { ...execution.taskToDomain },
  };
}

/** Returns a start request for each system that MDM named and that has an event handler. @throws UnknownVersion */
function missingShares(execution: WholeExecution, { mdmDefinitions }: DecisionContext): StartWorkflowRequest[] {
  const systems = lastTask(execution, notifyTask)?.outputData?.['interestedSystems'];
  if (!Array.isArray(systems) || systems.length === 0) return [];
  const scope = scopeOf(execution);
  return systems.flatMap((loopItem: unknown) =>
    mdmDefinitions.startsAfter(execution, { ...scope, each_system: { output: { loopItem } } }),
  );
}

/** Returns true when `started` contains all fields of `input`. The engine adds fields to inputs from event handlers. */
function hasInput(started: Readonly<Record<string, unknown>>, input: Record<string, unknown>): boolean {
  return Object.entries(input).every(([name, value]) => JSON.stringify(started[name]) === JSON.stringify(value));
}
