// What one look at an execution can lead to. Decisions are data: a dry run prints them, a round carries them out.

import type { ExecutedTask, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import type { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import type { MdmDefinitions } from './mdm-definitions.ts';

/** What can be wrong; the `case` label of the metrics. */
export const cases = [
  'event_stuck',
  'event_lost',
  'outcome_unknown',
  'never_scheduled',
  'share_lost',
  'unknown_version',
] as const;
export type Case = (typeof cases)[number];

export type Decision =
  /** Nothing is owed, now or later. */
  | { readonly kind: 'settled' }
  /** Too early, or still going on as it should. */
  | { readonly kind: 'waiting' }
  /** Terminate it when it is running, then let the engine retry it; `otherwise` is started when it refuses. */
  | { readonly kind: 'resume'; readonly case: Case; readonly otherwise: readonly StartWorkflowRequest[] }
  /** Start what should have been started. */
  | { readonly kind: 'start'; readonly case: Case; readonly requests: readonly StartWorkflowRequest[] }
  /** Start what replaces it, then terminate it. */
  | { readonly kind: 'replace'; readonly case: Case; readonly requests: readonly StartWorkflowRequest[] }
  /** Terminate it, and look in a later round at what it left. */
  | { readonly kind: 'end'; readonly case: Case }
  /** Ask the back end, by an execution of its own, and look at the answer in a later round. */
  | { readonly kind: 'ask'; readonly case: Case; readonly request: StartWorkflowRequest }
  /** The back end has been asked and will answer. */
  | { readonly kind: 'asked'; readonly case: Case }
  /** The back end was asked and did not answer: it is asked again later. */
  | { readonly kind: 'unanswered'; readonly case: Case }
  /** A person has to look. */
  | { readonly kind: 'undecided'; readonly case: Case; readonly reason: string };

export interface DecisionContext {
  readonly flows: MdmDefinitions;
  readonly codec: PayloadCodec;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** How long the engine gets to do it by itself, in milliseconds. */
  readonly afterMs: number;
}

export const settled: Decision = { kind: 'settled' };
export const waiting: Decision = { kind: 'waiting' };

/** The last attempt of a task. */
export function lastTask({ tasks }: WholeExecution, referenceTaskName: string): ExecutedTask | undefined {
  return tasks.findLast((task) => task.referenceTaskName === referenceTaskName);
}

/** EVENT tasks in this state, of any iteration of a loop. */
export function eventTasks({ tasks }: WholeExecution, statuses: readonly string[]): readonly ExecutedTask[] {
  return tasks.filter(({ taskType, status }) => taskType === 'EVENT' && statuses.includes(status));
}

/** What expressions of a definition see of an execution. */
export function scopeOf(execution: WholeExecution): Record<string, Record<string, unknown>> {
  const { workflowId, input, correlationId } = execution;
  const scope: Record<string, Record<string, unknown>> = { workflow: { workflowId, input, correlationId } };
  for (const { referenceTaskName, inputData, outputData, ...task } of execution.tasks) {
    scope[referenceTaskName] = { ...task, input: inputData ?? {}, output: outputData ?? {} };
  }
  return scope;
}

/** True once `since` is `afterMs` ago; 0 and undefined are "not yet". */
export function isOver(since: number | undefined, { now, afterMs }: Pick<DecisionContext, 'now' | 'afterMs'>): boolean {
  return since !== undefined && since > 0 && now - since >= afterMs;
}

/** True for a task whose worker has not been heard of for long: a killed engine may forget to time it out. */
export function isOverdue(task: ExecutedTask | undefined, { now, afterMs }: DecisionContext): boolean {
  if (task?.status !== 'IN_PROGRESS') return false;
  const { startTime = 0, updateTime = 0, responseTimeoutSeconds = 0 } = task;
  const heardAt = Math.max(startTime, updateTime);
  return heardAt > 0 && responseTimeoutSeconds > 0 && now - heardAt >= responseTimeoutSeconds * 1_000 + afterMs;
}

/** True for an execution that was started and never given a task: the engine was killed while it started it. */
export function isEmpty({ status, tasks }: WholeExecution): boolean {
  return status === 'RUNNING' && tasks.length === 0;
}
