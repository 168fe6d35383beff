// Determines what is missing from an execution of mdmWF or mdm-shareWF: follow-up executions that MDM requested, or
// lost tasks.

import { notifyTask, systemLoop } from '#lib/conductor/definitions/mdm-workflows.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import { isTerminatedByReconciler } from '#lib/conductor/executions/reconciler-terminations.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import {
  type Decision,
  type DecisionContext,
  eventTasks,
  hasElapsed,
  isLost,
  isMissingRetry,
  isNeverScheduled,
  lastTask,
  scopeOf,
  settled,
  waiting,
} from './decision.ts';
import { hasInput } from './same-work.ts';

/**
 * Decides what to do about an execution of mdmWF, which notifies MDM.
 * @param shares the executions of mdm-shareWF with the same correlation id
 * @throws UnknownVersion when the definitions do not contain the execution's workflow version
 */
export function decideNotification(
  execution: WholeExecution,
  shares: readonly WholeExecution[],
  context: DecisionContext,
): Decision {
  if (isNeverScheduled(execution, context)) return replace(execution);
  if (isMissingRetry(execution, context)) return retryLost(execution);
  const running = !hasEnded(execution);
  const notified = lastTask(execution, notifyTask);
  // A repeated call is safe: MDM and the adaptors detect it by its idempotency key.
  if (running && isLost(notified, context)) return resume(execution);
  // The task is still waiting for MDM, or it has failed: the status of the execution shows which.
  if (notified?.status !== 'COMPLETED') return running ? waiting : resumeInterrupted(execution);
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
 * Decides what to do about an execution of mdm-shareWF: its task may never have been scheduled, or its worker may have
 * died.
 */
export function decideShare(execution: WholeExecution, context: DecisionContext): Decision {
  if (isMissingRetry(execution, context)) return retryLost(execution);
  if (hasEnded(execution)) return resumeInterrupted(execution);
  const task = lastTask(execution, execution.tasks[0]?.referenceTaskName ?? '');
  if (isLost(task, context)) return resume(execution);
  return isNeverScheduled(execution, context) ? replace(execution) : waiting;
}

/**
 * Resumes an execution that a reconciler terminated in order to retry it, when the retry did not follow: the engine or
 * the router was killed in between. An execution that an operator has terminated is settled, unless the engine lost the
 * reason for the termination.
 */
function resumeInterrupted(execution: WholeExecution): Decision {
  return isTerminatedByReconciler(execution) ? resume(execution) : settled;
}

function resume(execution: WholeExecution): Decision {
  return { kind: 'resume', case: 'outcome_unknown', fallback: [restartRequest(execution)] };
}

/** A repeated attempt is safe, as after a timeout: MDM and the adaptors detect it by its idempotency key. */
function retryLost(execution: WholeExecution): Decision {
  return { kind: 'resume', case: 'never_retried', fallback: [restartRequest(execution)] };
}

/** Replaces an execution without tasks, which nothing else would continue. */
function replace(execution: WholeExecution): Decision {
  return { kind: 'replace', case: 'never_scheduled', requests: [restartRequest(execution)] };
}

/**
 * Returns a request that starts the same execution again. All restarts of one execution have the same correlation id.
 */
function restartRequest(execution: WholeExecution): StartWorkflowRequest {
  const { workflowId, workflowName, workflowVersion, correlationId } = execution;
  return {
    name: workflowName,
    version: workflowVersion,
    correlationId: correlationId ?? workflowId,
    input: { ...execution.input },
    taskToDomain: { ...execution.taskToDomain },
  };
}

/** Returns the start requests of the event handlers for each system that MDM named. @throws UnknownVersion */
function missingShares(execution: WholeExecution, { mdmDefinitions }: DecisionContext): StartWorkflowRequest[] {
  const systems = lastTask(execution, notifyTask)?.outputData?.['interestedSystems'];
  if (!Array.isArray(systems) || systems.length === 0) return [];
  const scope = scopeOf(execution);
  return systems.flatMap((loopItem: unknown) =>
    mdmDefinitions.startsAfter(execution, { ...scope, [systemLoop]: { output: { loopItem } } }),
  );
}
