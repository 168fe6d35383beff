// Asks an engine without an index which executions of acknowledged writes it still has. The ids come from the history.

import { acknowledgedIn } from './check-history.ts';
import { operationsOf } from './gather-operations.ts';
import type { AnyEvent, HistoryEvent } from './history.ts';

type ExecutionObservation = Omit<Extract<HistoryEvent, { event: 'execution' }>, 'at'>;

/** Number of executions that are read concurrently. */
const concurrentReads = 8;

/**
 * Calls `append` for each execution of an acknowledged write. The event says whether the engine still has the
 * execution.
 */
export async function observeExecutions(
  engineUrl: string,
  events: readonly AnyEvent[],
  append: (observation: ExecutionObservation) => void,
): Promise<void> {
  const writes = operationsOf(events).filter(({ invoke }) => invoke.method !== 'GET');
  const ids = [...new Set(writes.flatMap(({ ends }) => acknowledgedIn(ends)))];
  for (let from = 0; from < ids.length; from += concurrentReads) {
    const some = ids.slice(from, from + concurrentReads);
    const found = await Promise.all(some.map((id) => hasExecution(engineUrl, id)));
    for (const [index, executionId] of some.entries())
      append({ actor: 'observer', event: 'execution', executionId, found: found[index] === true });
  }
}

/** Returns true when the engine has an execution. @throws Error for a response other than 200 and 404 */
async function hasExecution(engineUrl: string, executionId: string): Promise<boolean> {
  const response = await fetch(`${engineUrl}/api/workflow/${executionId}?includeTasks=false`);
  await response.arrayBuffer();
  if (response.status !== 200 && response.status !== 404)
    throw new Error(`the engine responded with ${response.status} for execution ${executionId}`);
  return response.status === 200;
}
