// Previews and carries out operators' interventions in executions: retry, terminate and cancel.

import { isSafeMethod } from '#lib/http/methods.ts';
import { EngineError } from '../engine-error.ts';
import { isDirectDomain } from './direct-domain.ts';
import type { ExecutedTask, WholeExecution } from './execution.ts';
import type { ExecutionApi } from './execution-api.ts';
import { hasEnded } from './has-ended.ts';

/**
 * Kinds of interventions.
 * - `retry`: resumes at the last failed or cancelled task; a write is sent again
 * - `terminate`: ends the execution in any case
 * - `cancel`: ends the execution only if no worker has received a task, so nothing was sent to a back end
 */
export type Intervention = 'retry' | 'terminate' | 'cancel';

/** The expected result of an intervention. */
export type InterventionPreview =
  | { readonly kind: 'possible'; readonly executionId: string; readonly warning?: string }
  | { readonly kind: 'refused'; readonly executionId: string; readonly reason: string };

/** The result of an intervention in one execution. */
export interface InterventionResult {
  readonly executionId: string;
  /**
   * `unknown`: the engine did not respond. `not tried`: the engine could not be read or reached, so the intervention
   * was not sent.
   */
  readonly outcome: 'done' | 'refused' | 'unknown' | 'not tried';
  /** Reason for a refusal, the error of another failure, or a warning. */
  readonly reason?: string;
}

/** Outcome of an intervention by the kind of EngineError. */
const outcomes = { refused: 'refused', unreachable: 'not tried', interrupted: 'unknown' } as const;

/** Returns the expected result of an intervention without changing anything. @throws EngineError */
export async function previewInterventions(
  intervention: Intervention,
  executionId: string,
  api: ExecutionApi,
): Promise<InterventionPreview> {
  const execution = await api.readWhole(executionId);
  if (execution === null) return { kind: 'refused', executionId, reason: 'the engine has no such execution' };
  if (intervention === 'retry') return previewRetry(execution);
  if (hasEnded(execution)) return { kind: 'refused', executionId, reason: `it has already ended: ${execution.status}` };
  const begun = execution.tasks.find(isWithWorker);
  if (begun === undefined) return { kind: 'possible', executionId };
  const where = `a worker ${isDirectDomain(begun.domain) ? 'may have' : 'has'} begun ${begun.referenceTaskName}`;
  return intervention === 'cancel'
    ? {
        kind: 'refused',
        executionId,
        reason: `${where}: its work cannot be undone; to end the execution anyway, use terminate`,
      }
    : {
        kind: 'possible',
        executionId,
        warning: `${where}: it remains unknown whether the back end has processed the request`,
      };
}

function previewRetry(execution: WholeExecution): InterventionPreview {
  const { workflowId: executionId, status } = execution;
  if (!hasEnded(execution) || status === 'COMPLETED') {
    return { kind: 'refused', executionId, reason: `only failed executions can be retried, and this one is ${status}` };
  }
  const { httpMethod } = (execution.input['inbound'] ?? {}) as { httpMethod?: unknown };
  // An execution that an event has started contains the request of its source execution but does not send that request.
  const isRequest = httpMethod !== undefined && execution.input['executionId'] === undefined;
  const last = execution.tasks.findLast(({ status: state }) => state !== 'COMPLETED' && state !== 'SKIPPED');
  return isRequest && !isSafeMethod(httpMethod) && last?.taskType !== 'EVENT'
    ? {
        kind: 'possible',
        executionId,
        warning: `a ${String(httpMethod)} is sent to the back end again, with the same Idempotency-Key; no client waits for the response`,
      }
    : { kind: 'possible', executionId };
}

/**
 * Carries out an intervention. A cancellation is previewed again, because a worker may have received a task since the
 * first preview. Never rejects: an error is returned as the reason.
 * @param reason reason for a termination, visible to everyone who can read the execution
 */
export async function carryOutIntervention(
  intervention: Intervention,
  executionId: string,
  { api, reason }: { api: ExecutionApi; reason: string },
): Promise<InterventionResult> {
  if (intervention === 'cancel') {
    try {
      const preview = await previewInterventions(intervention, executionId, api);
      if (preview.kind === 'refused') return { executionId, outcome: 'refused', reason: preview.reason };
    } catch (error) {
      return { executionId, outcome: 'not tried', reason: (error as Error).message };
    }
  }
  try {
    if (intervention === 'retry') await api.retry(executionId);
    else await api.terminate(executionId, reason);
  } catch (error) {
    const outcome = error instanceof EngineError ? outcomes[error.kind] : 'unknown';
    return { executionId, outcome, reason: (error as Error).message };
  }
  if (intervention !== 'cancel') return { executionId, outcome: 'done' };
  const warning = await warningAfterCancel(executionId, api);
  return warning === undefined ? { executionId, outcome: 'done' } : { executionId, outcome: 'done', reason: warning };
}

/** Returns a warning when a worker has, or may have, received the task between the preview and the termination. */
async function warningAfterCancel(executionId: string, api: ExecutionApi): Promise<string | undefined> {
  try {
    const after = await api.readWhole(executionId);
    const received = after?.tasks.find(
      ({ domain, startTime = 0, pollCount = 0 }) => isDirectDomain(domain) || (startTime > 0 && pollCount > 0),
    );
    if (received === undefined) return undefined;
    const how = isDirectDomain(received.domain) ? 'may have received' : 'received';
    return `a worker ${how} the task just before the cancellation; it is unknown whether the back end has processed the request`;
  } catch (error) {
    return `it is unknown whether a worker received the task just before the cancellation: ${(error as Error).message}`;
  }
}

/**
 * Returns true for a task that a worker has received, even if the task has since ended or been postponed. Also returns
 * true for a directly dispatched task, because only the router that dispatched it knows whether a worker has it.
 */
function isWithWorker({ taskType, status, domain, startTime = 0, pollCount = 0 }: ExecutedTask): boolean {
  if (taskType === 'EVENT' || taskType === 'SWITCH') return false;
  return status !== 'SCHEDULED' || pollCount > 0 || startTime > 0 || isDirectDomain(domain);
}
