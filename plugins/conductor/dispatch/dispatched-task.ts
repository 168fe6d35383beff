// Directly dispatched tasks: a worker gets the first task of an execution without a poll of the engine.

import type { Engine } from '#lib/conductor/engine.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { parseResponse } from '#lib/conductor/read-response.ts';
import type { StartWorkflowRequest, Task } from '#lib/conductor/types.ts';
import type { FirstTask, Values } from './workflow-metadata.ts';

/**
 * The id of a directly dispatched task, `<execution id>.<reference name>`. It is used instead of the engine's task id,
 * which only a poll returns. The reference name becomes a path segment, so it must not be a dot segment.
 */
const idPattern = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(?!\.{1,2}$)(.+)$/;

/** Identifies a task of the engine without the engine's task id. */
export interface TaskReference {
  executionId: string;
  referenceName: string;
}

/** Returns the task that the id of a directly dispatched task refers to; undefined for an id of the engine. */
export function parseDispatchedTaskId(taskId: string): TaskReference | undefined {
  const [, executionId, referenceName] = idPattern.exec(taskId) ?? [];
  return executionId === undefined || referenceName === undefined ? undefined : { executionId, referenceName };
}

/** True for the id of a task that was dispatched directly; false for an id of the engine. */
export function isDispatchedTaskId(taskId: string): boolean {
  return idPattern.test(taskId);
}

/** Returns the id for the direct dispatch of a task. */
export function dispatchedTaskId({ executionId, referenceName }: TaskReference): string {
  return `${executionId}.${referenceName}`;
}

/**
 * Reads a task by the engine's id or by the id of a direct dispatch, even if the task has ended. If the task has
 * several attempts, the last one is returned.
 * @returns undefined when there is no such task
 * @throws EngineError
 */
export async function findTask(engine: Pick<Engine, 'request'>, taskId: string): Promise<Task | undefined> {
  const reference = parseDispatchedTaskId(taskId);
  const path =
    reference === undefined
      ? `tasks/${encodeURIComponent(taskId)}`
      : `workflow/${reference.executionId}?includeTasks=true`;
  const { status, body } = await engine.request({ method: 'GET', path: `/api/${path}` });
  if (status === 404 || status === 204) return undefined;
  if (status !== 200)
    throw new EngineError('refused', `GET /api/${path}: the engine responded with ${status}`, { status });
  const found = parseResponse<Partial<Task> & { tasks?: Task[] }>({ body });
  if (reference !== undefined)
    return found.tasks?.findLast((task) => task.referenceTaskName === reference.referenceName);
  // An id such as `search` is the path of another API call, whose response is not this task.
  return found.taskId === taskId ? (found as Task) : undefined;
}

/**
 * Returns the engine's id of a task that was dispatched directly; returns any other id unchanged.
 * @throws EngineError
 */
export async function engineTaskId(engine: Pick<Engine, 'request'>, taskId: string): Promise<string> {
  if (!isDispatchedTaskId(taskId)) return taskId;
  return (await findTask(engine, taskId))?.taskId ?? taskId;
}

/** True for a task for which the engine accepts a result. */
export function isPending({ status }: Task): boolean {
  return status === 'SCHEDULED' || status === 'IN_PROGRESS';
}

/** Returns the path segments that identify a task in the engine's API without the task's id. */
export function taskPath({ executionId, referenceName }: TaskReference): string {
  return `${encodeURIComponent(executionId)}/${encodeURIComponent(referenceName)}`;
}

/** The data of a directly dispatched task. */
export interface DispatchedTaskOptions {
  executionId: string;
  request: StartWorkflowRequest;
  first: FirstTask;
  /** Input of the task. */
  input: Values;
  domain: string | undefined;
  responseTimeoutSeconds: number;
}

/** Creates the task as a poll of the engine would return it, except for its id. */
export function createDispatchedTask(options: DispatchedTaskOptions): Task {
  const { executionId, request, first, input, domain, responseTimeoutSeconds } = options;
  const now = Date.now();
  return {
    taskId: dispatchedTaskId({ executionId, referenceName: first.referenceName }),
    taskType: first.taskType,
    taskDefName: first.taskType,
    referenceTaskName: first.referenceName,
    status: 'IN_PROGRESS',
    workflowInstanceId: executionId,
    workflowType: request.name,
    ...(request.correlationId === undefined ? {} : { correlationId: request.correlationId }),
    ...(domain === undefined ? {} : { domain }),
    inputData: input,
    retryCount: 0,
    seq: 1,
    pollCount: 1,
    scheduledTime: now,
    startTime: now,
    updateTime: now,
    callbackAfterSeconds: 0,
    responseTimeoutSeconds,
  };
}
