// What is owed for one execution of mdmWF, or for an update of MDM's queue: the shares that MDM asked for, each started once at least.

import type { WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
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
import { notifyTask } from './mdm-definitions.ts';

/** @param shares the executions of mdm-shareWF with the same correlation id */
export function decideNotification(
  execution: WholeExecution,
  shares: readonly WholeExecution[],
  context: DecisionContext,
): Decision {
  if (isEmpty(execution)) {
    return isOver(execution.startTime, context) ? replace(execution) : waiting;
  }
  const running = execution.status === 'RUNNING' || execution.status === 'PAUSED';
  const notified = lastTask(execution, notifyTask);
  // MDM and the adaptors tell a repetition by its key.
  if (running && isOverdue(notified, context)) return resumeOverdue(execution);
  // Waiting for MDM, or given up: that shows as a failed execution.
  if (notified?.status !== 'COMPLETED') return running ? waiting : settled;
  if (!isOver(running ? notified.endTime : execution.endTime, context)) return waiting;
  const owed = owedShares(execution, context).filter(
    ({ input }) => !shares.some((share) => includes(share.input, input)),
  );
  const broken = eventTasks(execution, ['CANCELED', 'FAILED']).length;
  // An event that breaks again is not waited for: what it should have started is started.
  if (running && broken > 0) return { kind: 'replace', case: 'event_stuck', requests: owed };
  if (running || (broken === 1 && execution.status !== 'COMPLETED')) {
    return { kind: 'resume', case: 'event_stuck', otherwise: owed };
  }
  return owed.length === 0 ? settled : { kind: 'start', case: 'share_lost', requests: owed };
}

/**
 * The record of an update of MDM's queue. The engine starts it and the share by a handler each.
 * @param shares the executions of mdm-shareWF with the same correlation id
 */
export function decideUpdate(
  execution: WholeExecution,
  shares: readonly WholeExecution[],
  context: DecisionContext,
): Decision {
  if (!isOver(execution.startTime, context)) return waiting;
  const share = context.flows.shareForUpdate(execution.input);
  const requests = share === null || shares.some(({ input }) => includes(input, share.input)) ? [] : [share];
  // It has nothing to wait for: one that runs was left so by a killed engine.
  if (execution.status === 'RUNNING') return { kind: 'replace', case: 'never_scheduled', requests };
  return requests.length === 0 ? settled : { kind: 'start', case: 'share_lost', requests };
}

/** An execution of mdm-shareWF itself: one that never got its task, or whose worker is gone unnoticed. */
export function decideShare(execution: WholeExecution, context: DecisionContext): Decision {
  if (execution.status !== 'RUNNING') return settled;
  if (execution.tasks.some((task) => isOverdue(task, context))) return resumeOverdue(execution);
  return isEmpty(execution) && isOver(execution.startTime, context) ? replace(execution) : waiting;
}

function resumeOverdue(execution: WholeExecution): Decision {
  return { kind: 'resume', case: 'outcome_unknown', otherwise: [again(execution)] };
}

/** Nobody else would start it. */
function replace(execution: WholeExecution): Decision {
  return { kind: 'replace', case: 'never_scheduled', requests: [again(execution)] };
}

/** The same once more. */
function again({ workflowName, workflowVersion, correlationId, ...execution }: WholeExecution): StartWorkflowRequest {
  return {
    name: workflowName,
    version: workflowVersion,
    ...(correlationId === undefined ? {} : { correlationId }),
    input: { ...execution.input },
    taskToDomain: { ...execution.taskToDomain },
  };
}

/** One for each system that MDM named and that has a handler. @throws UnknownVersion */
function owedShares(execution: WholeExecution, { flows }: DecisionContext): StartWorkflowRequest[] {
  const systems = lastTask(execution, notifyTask)?.outputData?.['interestedSystems'];
  if (!Array.isArray(systems) || systems.length === 0) return [];
  const source = flows.sourceOf(execution.workflowName, execution.workflowVersion);
  if (source === undefined) return [];
  return systems.flatMap((loopItem: unknown) => {
    const scope = { ...scopeOf(execution), each_system: { output: { loopItem } } };
    const request = flows.startFor(source, scope, flows.payloadOf(source, scope));
    return request === null ? [] : [request];
  });
}

/** What the handler's start and ours have in common: the engine adds fields of its own to the handler's. */
function includes(started: Readonly<Record<string, unknown>>, input: Record<string, unknown>): boolean {
  return Object.entries(input).every(([name, value]) => JSON.stringify(started[name]) === JSON.stringify(value));
}
