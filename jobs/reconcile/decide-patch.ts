// What is owed for one PATCH: an event that was not published, an MDM workflow that was not started, an outcome nobody knows.

import type { ExecutedTask, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import { isSuperseded } from '#lib/conductor/executions/superseded.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { parseFailure } from '#lib/envelope/failure.ts';
import {
  type Decision,
  type DecisionContext,
  eventTasks,
  isEmpty,
  isOver,
  isOverdue,
  lastTask,
  scopeOf,
  settled,
  waiting,
} from './decision.ts';
import { intakeTask } from './mdm-definitions.ts';
import { decideByAnswer, findAnswer, type Probe } from './probe.ts';

/** What else the engine has for this PATCH. */
export interface PatchRelations {
  /** An MDM workflow was started for it. */
  readonly notified: boolean;
  /** Executions that asked the back end what became of it, oldest first. */
  readonly probes: readonly Probe[];
}

/**
 * @param execution a PATCH of a workflow version that produces an event, or may do so
 * @throws UnknownVersion when something may have to be started for a version that is not among the definitions
 */
export function decidePatch(execution: WholeExecution, relations: PatchRelations, context: DecisionContext): Decision {
  if (execution.status === 'RUNNING' || execution.status === 'PAUSED') return decideRunning(execution, context);
  if (relations.notified || isSuperseded(execution)) return settled;
  if (!isOver(execution.endTime, context)) return waiting;
  const intake = lastTask(execution, intakeTask);
  if (intake === undefined) return settled;
  if (intake.status === 'COMPLETED') return decideApplied(execution, intake, context);
  if (neverSent(intake)) return settled;
  return decideUnknown(execution, relations.probes, context);
}

function decideRunning(execution: WholeExecution, context: DecisionContext): Decision {
  if (isEmpty(execution)) {
    return isOver(execution.startTime, context) ? { kind: 'replace', case: 'never_scheduled', requests: [] } : waiting;
  }
  const intake = lastTask(execution, intakeTask);
  if (isOverdue(intake, context) || isUnfinished(intake, context)) return { kind: 'end', case: 'outcome_unknown' };
  const open = execution.tasks.filter(({ status }) => status === 'SCHEDULED' || status === 'IN_PROGRESS');
  // The engine publishes an event in the step that schedules it: one that waits, or a step that is missing, stays so.
  const stuck = open.every(({ taskType }) => taskType === 'EVENT') && intake?.status === 'COMPLETED';
  if (!stuck || !isOver(intake.endTime, context)) return waiting;
  const requests = succeeded(intake) ? notification(execution, context) : [];
  // The engine has tried again and is stuck again: what the event should have started is started.
  if (eventTasks(execution, ['CANCELED']).length > 0) return { kind: 'replace', case: 'event_stuck', requests };
  return { kind: 'resume', case: 'event_stuck', otherwise: requests };
}

/** The engine has given the task up, and was killed before it ended the execution. */
function isUnfinished(intake: ExecutedTask | undefined, context: DecisionContext): boolean {
  const { status = '', endTime = 0, updateTime = 0 } = intake ?? {};
  const givenUp = ['TIMED_OUT', 'FAILED', 'FAILED_WITH_TERMINAL_ERROR', 'CANCELED'].includes(status);
  return givenUp && isOver(Math.max(endTime, updateTime), context);
}

/** The back end has answered; whether MDM has to hear of it is decided by its status. */
function decideApplied(execution: WholeExecution, intake: ExecutedTask, context: DecisionContext): Decision {
  if (!succeeded(intake)) return settled;
  const requests = notification(execution, context);
  const broken = eventTasks(execution, ['CANCELED', 'FAILED']).length;
  // Once more by the engine, so that the execution ends as it should; an event that breaks again is not waited for.
  if (execution.status !== 'COMPLETED' && broken === 1) {
    return { kind: 'resume', case: 'event_stuck', otherwise: requests };
  }
  return requests.length === 0 ? settled : { kind: 'start', case: 'event_lost', requests };
}

function decideUnknown(execution: WholeExecution, probes: readonly Probe[], context: DecisionContext): Decision {
  const answer = findAnswer(execution, probes, context);
  if ('kind' in answer) return answer;
  return decideByAnswer(execution, answer, {
    applied: (outbound) => ({
      kind: 'start',
      case: 'outcome_unknown',
      requests: notification(execution, context, outbound),
    }),
    codec: context.codec,
  });
}

/**
 * What the handler of the event would start.
 * @param outbound in place of the answer that was lost
 * @throws UnknownVersion
 */
function notification(
  execution: WholeExecution,
  { flows }: DecisionContext,
  outbound?: object,
): StartWorkflowRequest[] {
  const source = flows.sourceOf(execution.workflowName, execution.workflowVersion);
  if (source === undefined) return [];
  const scope = scopeOf(execution);
  if (outbound !== undefined) scope[intakeTask] = { ...scope[intakeTask], output: { outbound } };
  const request = flows.startFor(source, scope, flows.payloadOf(source, scope));
  return request === null ? [] : [request];
}

/** The condition of the handler. */
function succeeded({ outputData }: ExecutedTask): boolean {
  const status = (outputData?.['outbound'] as { statusCodeValue?: unknown } | undefined)?.statusCodeValue;
  return typeof status === 'number' && status >= 200 && status <= 299;
}

/** True when no worker had it, or the worker says that nothing left it. */
function neverSent({ pollCount = 0, startTime = 0, reasonForIncompletion }: ExecutedTask): boolean {
  if (pollCount === 0 && startTime === 0) return true;
  const code = parseFailure(reasonForIncompletion)?.code;
  return code === 'back-end-unreachable' || code === 'unknown-college' || code === 'payload-unreadable';
}
