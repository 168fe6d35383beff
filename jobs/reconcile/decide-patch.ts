// Decides what is missing for a PATCH: its event was not published, the MDM workflow was not started, or the outcome of
// the PATCH is unknown.

import { intakeTask } from '#lib/conductor/definitions/mdm-workflows.ts';
import { isCancelled } from '#lib/conductor/executions/cancelled.ts';
import type { ExecutedTask, WholeExecution } from '#lib/conductor/executions/execution.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import { isSuperseded } from '#lib/conductor/executions/superseded.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { parseFailure } from '#lib/envelope/failure.ts';
import {
  type Decision,
  type DecisionContext,
  eventTasks,
  hasElapsed,
  isLost,
  isNeverScheduled,
  lastTask,
  scopeOf,
  settled,
  waiting,
} from './decision.ts';
import { decideByResponse, findResponse, type Probe } from './probe.ts';

/** Other executions of the same PATCH. */
export interface PatchRelatedExecutions {
  /** True when an MDM workflow was started. */
  readonly notified: boolean;
  /** Executions that probed the back end for the outcome, oldest first. */
  readonly probes: readonly Probe[];
}

/**
 * Decides what is missing for a PATCH.
 * @param execution an execution of a PATCH; its workflow version produces an event or is unknown
 * @throws UnknownVersion when a follow-up may be missing and the definitions do not contain the version
 */
export function decidePatch(
  execution: WholeExecution,
  related: PatchRelatedExecutions,
  context: DecisionContext,
): Decision {
  if (!hasEnded(execution)) return decideRunning(execution, context);
  if (related.notified || isSuperseded(execution) || isCancelled(execution)) return settled;
  if (!hasElapsed(execution.endTime, context)) return waiting;
  const intake = lastTask(execution, intakeTask);
  if (intake === undefined) return settled;
  if (intake.status === 'COMPLETED') return decideApplied(execution, intake, context);
  if (neverSent(intake)) return settled;
  return decideUnknown(execution, related.probes, context);
}

function decideRunning(execution: WholeExecution, context: DecisionContext): Decision {
  if (isNeverScheduled(execution, context)) return { kind: 'replace', case: 'never_scheduled', requests: [] };
  const intake = lastTask(execution, intakeTask);
  if (isLost(intake, context)) return { kind: 'end', case: 'outcome_unknown' };
  const unfinished = execution.tasks.filter(({ status }) => status === 'SCHEDULED' || status === 'IN_PROGRESS');
  // The engine publishes an event while it schedules the EVENT task. If the engine is interrupted, it does not publish
  // the event again, so the execution does not continue by itself.
  const isStuck = unfinished.every(({ taskType }) => taskType === 'EVENT') && intake?.status === 'COMPLETED';
  if (!isStuck || !hasElapsed(intake.endTime, context)) return waiting;
  const requests = succeeded(intake) ? notification(execution, context) : [];
  // The event got stuck again after a retry: the execution that the event should have started is started directly.
  if (eventTasks(execution, ['CANCELED']).length > 0) return { kind: 'replace', case: 'event_stuck', requests };
  return { kind: 'resume', case: 'event_stuck', fallback: requests };
}

/** Decides what to do about a PATCH to which the back end responded. MDM is notified only of 2xx responses. */
function decideApplied(execution: WholeExecution, intake: ExecutedTask, context: DecisionContext): Decision {
  if (!succeeded(intake)) return settled;
  const requests = notification(execution, context);
  const broken = eventTasks(execution, ['CANCELED', 'FAILED']).length;
  // Lets the engine retry the event once, so that the execution completes. An event that fails again is not retried.
  if (execution.status !== 'COMPLETED' && broken === 1) {
    return { kind: 'resume', case: 'event_stuck', fallback: requests };
  }
  return requests.length === 0 ? settled : { kind: 'start', case: 'event_lost', requests };
}

function decideUnknown(execution: WholeExecution, probes: readonly Probe[], context: DecisionContext): Decision {
  const response = findResponse(execution, probes, context);
  if ('kind' in response) return response;
  return decideByResponse(execution, response, {
    applied: (outbound) => {
      const requests = notification(execution, context, outbound);
      return requests.length === 0 ? settled : { kind: 'start', case: 'outcome_unknown', requests };
    },
    codec: context.codec,
  });
}

/**
 * Returns start requests for the executions that the handlers of the event would start. The list is empty when the
 * conditions of the handlers are false.
 * @param outbound replaces the response that was lost; conditions of handlers are then ignored
 * @throws UnknownVersion when the definitions do not contain the version
 */
function notification(
  execution: WholeExecution,
  { mdmDefinitions }: DecisionContext,
  outbound?: object,
): StartWorkflowRequest[] {
  const scope = scopeOf(execution);
  if (outbound !== undefined) scope[intakeTask] = { ...scope[intakeTask], output: { outbound } };
  // The response to the probe is not the response to the PATCH, so conditions cannot be evaluated against it.
  return mdmDefinitions.startsAfter(execution, scope, { ignoresConditions: outbound !== undefined });
}

/** Returns true for a 2xx response. */
function succeeded({ outputData }: ExecutedTask): boolean {
  const status = (outputData?.['outbound'] as { statusCodeValue?: unknown } | undefined)?.statusCodeValue;
  return typeof status === 'number' && status >= 200 && status <= 299;
}

/** Returns true when no worker polled the task, or the worker reported that it sent nothing. */
function neverSent({ pollCount = 0, startTime = 0, reasonForIncompletion }: ExecutedTask): boolean {
  if (pollCount === 0 && startTime === 0) return true;
  const code = parseFailure(reasonForIncompletion)?.code;
  return code === 'back-end-unreachable' || code === 'unknown-college' || code === 'payload-unreadable';
}
