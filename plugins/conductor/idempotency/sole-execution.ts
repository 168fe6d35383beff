// Guarantees that at most one of several executions for an Idempotency-Key is carried out, whichever router started
// them.
//
// A lock keeps two routers from starting two executions for one key, but the lock expires. A start that was sent while
// the lock was held may arrive after the lock has expired, for example when a router was suspended or the engine's
// database hung. A start cannot be fenced, because the engine does not know the keys. Therefore, a router that has
// polled a task of a keyed execution reads the other executions of the key. If a task of another execution has been
// taken, the router terminates the execution whose task it has polled. When two routers check at the same time, each
// sees the other's task, because each polled before it checked. Both executions are then terminated, and nothing is
// carried out twice.

import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { isSuperseded, isUntouched, superseded } from '#lib/conductor/executions/superseded.ts';
import type { Task } from '#lib/conductor/types.ts';
import { inboundOf } from '../execution/client-executions.ts';
import { isNameOfKey } from './idempotency-key.ts';

/** Returns true for a task of an execution that was started for an Idempotency-Key. */
export function isKeyed({ correlationId }: Task): boolean {
  return isNameOfKey(correlationId);
}

/**
 * Returns the execution of a keyed task that has just been polled; terminates that execution when another execution for
 * the same key came first.
 * @returns undefined when the engine does not have the execution
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
  // The request id of another client may equal this correlation id.
  const isOther = (other: WholeExecution) => other !== own && inboundOf(other).clientId === clientId;
  if (!all.some((other) => isOther(other) && !isSuperseded(other) && !isUntouched(other))) return own;
  await api.terminate(workflowInstanceId, superseded);
  return { ...own, status: 'TERMINATED' };
}
