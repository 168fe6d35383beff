// The decisions of the reconciler as data, which a round applies or a dry run prints, and the conditions that the
// modules decide-*.ts share.

import type { ExecutedTask, WholeExecution } from '#lib/conductor/executions/execution.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import type { Case } from '#lib/conductor/executions/reconciler-terminations.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import type { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import type { MdmDefinitions } from './mdm-definitions.ts';

/** What to do about one execution. */
export type Decision =
  /** Nothing is missing, now or later. */
  | { readonly kind: 'settled' }
  /** The execution is within the grace period, or still running normally. */
  | { readonly kind: 'waiting' }
  /**
   * Terminate the execution if it is running, then let the engine retry it. Start `fallback` when the engine refuses.
   */
  | { readonly kind: 'resume'; readonly case: Case; readonly fallback: readonly StartWorkflowRequest[] }
  /** Start the missing executions. */
  | { readonly kind: 'start'; readonly case: Case; readonly requests: readonly StartWorkflowRequest[] }
  /** Start the replacements, then terminate the execution. */
  | { readonly kind: 'replace'; readonly case: Case; readonly requests: readonly StartWorkflowRequest[] }
  /** Terminate the execution; a later round decides what else to do. */
  | { readonly kind: 'end'; readonly case: Case }
  /** Start a probe of the back end; a later round evaluates the response. */
  | { readonly kind: 'ask'; readonly case: Case; readonly request: StartWorkflowRequest }
  /** A probe of the back end is running. */
  | { readonly kind: 'asked'; readonly case: Case }
  /** The probe got no response; it is repeated later. */
  | { readonly kind: 'unanswered'; readonly case: Case }
  /** The outcome is unclear and needs an operator. */
  | { readonly kind: 'undecided'; readonly case: Case; readonly reason: string };

/** Inputs of all decisions. */
export interface DecisionContext {
  readonly mdmDefinitions: MdmDefinitions;
  readonly codec: PayloadCodec;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** How long this reconciler has seen the same tasks in progress, in milliseconds; see {@link tasksInProgress}. */
  readonly unchangedMs: number;
  /** Grace period for the engine, in milliseconds. */
  readonly afterMs: number;
}

/** Nothing is missing. */
export const settled: Decision = { kind: 'settled' };
/** Too early to decide. */
export const waiting: Decision = { kind: 'waiting' };

/** Returns the last attempt of a task. */
export function lastTask(execution: WholeExecution, referenceTaskName: string): ExecutedTask | undefined {
  return tasksByAttempt(execution).findLast((task) => task.referenceTaskName === referenceTaskName);
}

/** Returns the tasks in the order of their attempts. An engine on Redis lists attempts in any order. */
function tasksByAttempt({ tasks }: WholeExecution): readonly ExecutedTask[] {
  return tasks.toSorted((one, other) => (one.retryCount ?? 0) - (other.retryCount ?? 0));
}

/** Returns the EVENT tasks, from all loop iterations, that have one of the statuses. */
export function eventTasks({ tasks }: WholeExecution, statuses: readonly string[]): readonly ExecutedTask[] {
  return tasks.filter(({ taskType, status }) => taskType === 'EVENT' && statuses.includes(status));
}

/**
 * Returns the values that expressions in definitions can refer to: those of the execution and of the last attempt of
 * each task.
 */
export function scopeOf(execution: WholeExecution): Record<string, Record<string, unknown>> {
  const { workflowId, input, correlationId } = execution;
  const scope: Record<string, Record<string, unknown>> = { workflow: { workflowId, input, correlationId } };
  for (const { referenceTaskName, inputData, outputData, ...task } of tasksByAttempt(execution)) {
    scope[referenceTaskName] = { ...task, input: inputData ?? {}, output: outputData ?? {} };
  }
  return scope;
}

/**
 * Returns true when `afterMs` have passed since `since` (milliseconds since 1970); false if `since` is 0 or undefined.
 */
export function hasElapsed(
  since: number | undefined,
  { now, afterMs }: Pick<DecisionContext, 'now' | 'afterMs'>,
): boolean {
  return since !== undefined && since > 0 && now - since >= afterMs;
}

/** Returns true when a task of an open execution is overdue, or has ended without success and nothing has followed. */
export function isLost(task: ExecutedTask | undefined, context: DecisionContext): boolean {
  return isOverdue(task, context) || isGivenUp(task, context);
}

/**
 * Returns true when a task should have timed out: an engine that was killed may have lost the timeout. The times of the
 * task are not compared with this router's clock: if that clock were ahead, a healthy task would count as overdue.
 */
function isOverdue(task: ExecutedTask | undefined, { unchangedMs, afterMs }: DecisionContext): boolean {
  const { status, responseTimeoutSeconds = 0 } = task ?? {};
  if (status !== 'IN_PROGRESS' || responseTimeoutSeconds === 0) return false;
  return unchangedMs >= responseTimeoutSeconds * 1_000 + afterMs;
}

/** Returns a string that changes when a worker receives one of the tasks, extends its lease or reports its result. */
export function tasksInProgress({ tasks }: WholeExecution): string {
  return tasks
    .filter(({ status }) => status === 'IN_PROGRESS')
    .map(({ taskId, startTime = 0, updateTime = 0, pollCount = 0 }) => [taskId, startTime, updateTime, pollCount])
    .join();
}

/** Returns true when a task of an open execution has ended without success and nothing has followed for `afterMs`. */
function isGivenUp(task: ExecutedTask | undefined, context: Pick<DecisionContext, 'now' | 'afterMs'>): boolean {
  const { status = '', endTime = 0, updateTime = 0 } = task ?? {};
  const isFailed = ['TIMED_OUT', 'FAILED', 'FAILED_WITH_TERMINAL_ERROR', 'CANCELED'].includes(status);
  return isFailed && hasElapsed(Math.max(endTime, updateTime), context);
}

/**
 * Returns true for an execution whose failed task the engine marked as retried without storing the next attempt. On
 * Redis the two writes are not atomic. After a crash between them, the engine assumes that the next attempt is
 * scheduled (conductor-oss 1021), but that attempt never runs. If the failed task is the last one, the engine completes
 * the execution at its next evaluation, as all of its tasks have ended.
 */
export function isMissingRetry(execution: WholeExecution, context: Pick<DecisionContext, 'now' | 'afterMs'>): boolean {
  return execution.tasks.some(
    (task) =>
      task.retried === true &&
      task.status !== 'COMPLETED' &&
      hasElapsed(Math.max(task.endTime ?? 0, task.updateTime ?? 0), context) &&
      lastTask(execution, task.referenceTaskName) === task,
  );
}

/** A router's clock is expected to be ahead of the engine's clock by less than this number of grace periods. */
const maxPeriodsAhead = 15;

/**
 * Returns true for an open execution that will never get a task, because the engine was killed while it started the
 * execution. A router observes executions for `afterMs` to detect this. A run of the CLI is too short for that: it
 * detects only executions whose start was very long ago by its own clock. If the threshold were lower, a CLI whose clock
 * is ahead would replace executions that are just being started.
 */
export function isNeverScheduled(execution: WholeExecution, { now, unchangedMs, afterMs }: DecisionContext): boolean {
  if (hasEnded(execution) || execution.tasks.length > 0) return false;
  return unchangedMs >= afterMs || hasElapsed(execution.startTime, { now, afterMs: afterMs * maxPeriodsAhead });
}
