// Of several executions of one Idempotency-Key only one is carried out, whoever started them and when.
//
// A lock keeps two routers from starting a key twice, but it expires, and what was sent under it may arrive later: a router
// that was suspended, an engine whose database hung. A start cannot be fenced, the engine knows no keys. So whoever polls the
// task of such an execution has taken it, and then looks at the others: when a task of another one was taken, this
// one is not carried out. Two that look at the same time see each other, because each was taken before its look: then
// neither is, and none twice.

import type { ExecutionApi, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import { isSuperseded, isUntouched, superseded } from '#lib/conductor/executions/superseded.ts';
import type { Task } from '#lib/conductor/types.ts';
import { inboundOf } from '../execution/client-executions.ts';
import { isNameOfKey } from './idempotency-key.ts';

/** True for the task of an execution that was started for an Idempotency-Key. */
export function isKeyed({ correlationId }: Task): boolean {
  return isNameOfKey(correlationId);
}

/**
 * The execution of a keyed task that has just been polled, terminated when another one of its key came first.
 * @returns undefined when the engine does not have it
 * @throws EngineError
 */
export async function readSoleExecution(
  { workflowType, correlationId, workflowInstanceId }: Task,
  api: Pick<ExecutionApi, 'correlated' | 'terminate'>,
): Promise<Pick<WholeExecution, 'workflowId' | 'status'> | undefined> {
  const all = await api.correlated(String(workflowType), String(correlationId), { includeTasks: true });
  const own = all.find(({ workflowId }) => workflowId === workflowInstanceId);
  if (own?.status !== 'RUNNING') return own;
  const { clientId } = inboundOf(own);
  // Somebody else may have chosen the same text for the id of a request.
  const isOther = (other: WholeExecution) => other !== own && inboundOf(other).clientId === clientId;
  if (!all.some((other) => isOther(other) && !isSuperseded(other) && !isUntouched(other))) return own;
  await api.terminate(workflowInstanceId, superseded);
  return { ...own, status: 'TERMINATED' };
}
