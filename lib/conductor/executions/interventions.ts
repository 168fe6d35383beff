// Retry, terminate and cancel: what each would mean for an execution as it is now, and doing it.

import { EngineError } from '../engine-error.ts';
import type { ExecutedTask, ExecutionApi, WholeExecution } from './execution-api.ts';

/**
 * - `retry`: the engine goes on at the last task that failed or was cancelled; a write is sent once more
 * - `terminate`: ends it, whoever works on it
 * - `cancel`: ends it only while no worker has begun: then nothing has left for a back end
 */
export type Intervention = 'retry' | 'terminate' | 'cancel';

/** What would happen, before anybody is asked. */
export type InterventionPreview =
  | { readonly kind: 'possible'; readonly executionId: string; readonly warning?: string }
  | { readonly kind: 'refused'; readonly executionId: string; readonly reason: string };

/** What has happened. */
export interface InterventionResult {
  readonly executionId: string;
  readonly outcome: 'done' | 'refused';
  /** Why not, or what to look at although it was done. */
  readonly reason?: string;
}

const readMethods: readonly unknown[] = ['GET', 'HEAD', 'OPTIONS'];

/** Looks, and changes nothing. @throws EngineError */
export async function previewInterventions(
  intervention: Intervention,
  executionId: string,
  api: ExecutionApi,
): Promise<InterventionPreview> {
  const execution = await api.readWhole(executionId);
  if (execution === null) return { kind: 'refused', executionId, reason: 'the engine has no such execution' };
  const running = execution.status === 'RUNNING' || execution.status === 'PAUSED';
  if (intervention === 'retry') return foreseeRetry(execution, running);
  if (!running) return { kind: 'refused', executionId, reason: `it has ended already: ${execution.status}` };
  const begun = execution.tasks.find(isWithWorker);
  if (begun === undefined) return { kind: 'possible', executionId };
  const where = `a worker has begun ${begun.referenceTaskName}`;
  return intervention === 'cancel'
    ? {
        kind: 'refused',
        executionId,
        reason: `${where}: what it does cannot be called back; terminate ends it all the same`,
      }
    : { kind: 'possible', executionId, warning: `${where}: whether its back end has done it stays unknown` };
}

function foreseeRetry(execution: WholeExecution, running: boolean): InterventionPreview {
  const { workflowId: executionId, status } = execution;
  if (running || status === 'COMPLETED') {
    return { kind: 'refused', executionId, reason: `only what failed can be retried, and it is ${status}` };
  }
  const { httpMethod } = (execution.input['inbound'] ?? {}) as { httpMethod?: unknown };
  // One that an event has started carries the request of its source, and does not send it.
  const isRequest = httpMethod !== undefined && execution.input['executionId'] === undefined;
  const last = execution.tasks.findLast(({ status: state }) => state !== 'COMPLETED' && state !== 'SKIPPED');
  return isRequest && !readMethods.includes(httpMethod) && last?.taskType !== 'EVENT'
    ? {
        kind: 'possible',
        executionId,
        warning: `a ${String(httpMethod)} is sent to the back end once more, under the same Idempotency-Key; nobody waits for its answer`,
      }
    : { kind: 'possible', executionId };
}

/** @param reason of a termination; anybody who reads the execution sees it */
export async function intervene(
  intervention: Intervention,
  executionId: string,
  { api, reason }: { api: ExecutionApi; reason: string },
): Promise<InterventionResult> {
  try {
    if (intervention === 'retry') await api.retry(executionId);
    else await api.terminate(executionId, reason);
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== 'refused') throw error;
    return { executionId, outcome: 'refused', reason: error.message };
  }
  if (intervention !== 'cancel') return { executionId, outcome: 'done' };
  // Between the look and the end a worker may have taken the task.
  const after = await api.readWhole(executionId);
  return after?.tasks.some(({ startTime = 0, pollCount = 0 }) => startTime > 0 && pollCount > 0) === true
    ? {
        executionId,
        outcome: 'done',
        reason: 'a worker took it at the last moment: whether its back end has done it is unknown',
      }
    : { executionId, outcome: 'done' };
}

/** A task that a worker has, or had and gave back for later. */
function isWithWorker({ taskType, status, startTime = 0, pollCount = 0 }: ExecutedTask): boolean {
  if (taskType === 'EVENT' || taskType === 'SWITCH') return false;
  return status !== 'SCHEDULED' || pollCount > 0 || startTime > 0;
}
