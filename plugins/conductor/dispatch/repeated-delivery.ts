// Recognises tasks that Conductor delivers again although nobody has returned them. A worker may still be processing
// such a task.
//
// The engine's sweeper reads an execution, looks for the queue message of each scheduled task, and adds missing
// messages (WorkflowSweeper.sweep). A task that is polled between these steps gets a second message, which the next
// poll takes. The API call `POST /api/tasks/queue/requeue/{taskType}` adds a message for every task in progress.
//
// `Task.pollCount` counts the polls of a task; it starts again at 0 for a retry or a rerun. A worker or router that
// returns a task reports it as IN_PROGRESS, which replaces the task's output and reason. A task that is polled again
// with neither an output nor a reason has therefore not been returned.

import { isSafeMethod } from '#lib/http/methods.ts';
import type { Task, TaskResult } from '#lib/conductor/types.ts';

const unreceived = 'no worker received the task after poll ';
/** Reason that the router adds when a worker returns a task without a reason or an output. */
export const returnedByWorker = 'its worker reported IN_PROGRESS';

/** Returns the reason with which a router returns a task that it has polled but that no worker has received. */
export function unreceivedReason({ pollCount = 1 }: Pick<Task, 'pollCount'>): string {
  return `${unreceived}${pollCount}`;
}

/**
 * Returns how often the engine may retry a polled task; undefined when the engine has no definition of its type. A
 * `retryCount` in the workflow replaces that of the task definition (DeciderService.retry).
 */
export function retryCountOf({ workflowTask }: Task): number | undefined {
  const { taskDefinition, retryCount } = (workflowTask ?? {}) as WorkflowTask;
  return taskDefinition === undefined ? undefined : (retryCount ?? taskDefinition.retryCount);
}

interface WorkflowTask {
  readonly retryCount?: number | null;
  readonly taskDefinition?: { readonly retryCount?: number };
}

/**
 * Returns true for a task that must not be carried out twice: a write that the engine must not retry. A task without an
 * HTTP method counts as a write. Any other task may be delivered a second time, because the first delivery may have
 * been lost: the engine can fail after it has taken a task from its queue.
 */
export function runsOnce(task: Task): boolean {
  const { httpMethod } = (task.inputData?.['inbound'] ?? {}) as { httpMethod?: unknown };
  if ((retryCountOf(task) ?? 0) > 0) return false;
  return !(typeof httpMethod === 'string' && isSafeMethod(httpMethod));
}

/** Returns true for a polled task that an earlier poll took and nobody has returned since. */
export function isRepeatedDelivery(task: Task): boolean {
  const { pollCount = 1 } = task;
  if (pollCount <= 1) return false;
  const reason = task.reasonForIncompletion;
  if (isUnreceivedReason(reason)) return reason !== unreceivedReason({ pollCount: pollCount - 1 });
  return !hasTrace(task);
}

/**
 * Returns true for a result by which a worker returns its task without a reason or an output. A reason that a router
 * has written does not count: Conductor's Java SDK copies the reason of the task into the result. At the next delivery,
 * this reason would name an earlier poll.
 */
export function returnsWithoutTrace(result: TaskResult): boolean {
  // A lease extension leaves the task with its worker.
  if (result.status !== 'IN_PROGRESS' || result.extendLease === true) return false;
  return isUnreceivedReason(result.reasonForIncompletion) || !hasTrace(result);
}

function isUnreceivedReason(reason: string | null | undefined): boolean {
  return reason?.startsWith(unreceived) === true;
}

/** Returns true for a task or result that has a reason or an output. SDKs may send both as null. */
function hasTrace({ reasonForIncompletion, outputData }: Pick<Task, 'reasonForIncompletion' | 'outputData'>): boolean {
  return (reasonForIncompletion ?? '') !== '' || Object.keys(outputData ?? {}).length > 0;
}
