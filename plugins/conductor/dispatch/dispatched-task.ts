// A task handed over: given to a worker at the start of its execution, without asking the engine's queue for it.

import type { Engine } from '#lib/conductor/engine.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { parseResponse } from '#lib/conductor/read-response.ts';
import type { StartWorkflowRequest, Task } from '#lib/conductor/types.ts';
import type { FirstTask, Values } from './workflow-metadata.ts';

/**
 * What stands in for the engine's task id, which only a poll would tell: which task of which execution it is. Not a
 * dot segment: the reference name becomes part of a path.
 */
const idPattern = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(?!\.{1,2}$)(.+)$/;

/** Names the engine's task without its id. */
export interface TaskPlace {
  executionId: string;
  referenceName: string;
}

/** The place behind the id of a task that was handed over; undefined for an id of the engine's own. */
export function placeOf(taskId: string): TaskPlace | undefined {
  const [, executionId, referenceName] = idPattern.exec(taskId) ?? [];
  return executionId === undefined || referenceName === undefined ? undefined : { executionId, referenceName };
}

/** The id under which the task of a place is handed over, or would have been. */
export function dispatchedTaskId({ executionId, referenceName }: TaskPlace): string {
  return `${executionId}.${referenceName}`;
}

/**
 * Asks the engine for a task by either kind of id.
 * @returns undefined when it has none, or none that is pending at such a place
 * @throws EngineError
 */
export async function findTask(engine: Pick<Engine, 'request'>, taskId: string): Promise<Task | undefined> {
  const place = placeOf(taskId);
  const path =
    place === undefined ? `tasks/${encodeURIComponent(taskId)}` : `workflow/${place.executionId}?includeTasks=true`;
  const { status, body } = await engine.request({ method: 'GET', path: `/api/${path}` });
  if (status === 404 || status === 204) return undefined;
  if (status !== 200) throw new EngineError('refused', `GET /api/${path}: engine answered ${status}`, { status });
  const found = parseResponse<Task | { tasks: Task[] }>({ body });
  if (!Array.isArray(found['tasks'])) return found as Task;
  return (found['tasks'] as Task[]).find(
    ({ referenceTaskName, status: state }) =>
      referenceTaskName === place?.referenceName && (state === 'SCHEDULED' || state === 'IN_PROGRESS'),
  );
}

/** As the engine's paths name a task by its place. */
export function pathOf({ executionId, referenceName }: TaskPlace): string {
  return `${encodeURIComponent(executionId)}/${encodeURIComponent(referenceName)}`;
}

export interface DispatchedTaskOptions {
  executionId: string;
  request: StartWorkflowRequest;
  first: FirstTask;
  input: Values;
  domain: string | undefined;
  responseTimeoutSeconds: number;
}

/** The task as a poll would have handed it out, but for its id. */
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
