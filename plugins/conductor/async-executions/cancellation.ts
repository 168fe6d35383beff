// Cancelling an execution that no worker has taken. What has been taken goes on as if nobody had asked.

import { EngineError } from '#lib/conductor/engine-error.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import type { ExecutionApi, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import { isUntouched } from '#lib/conductor/executions/superseded.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { WakeUps } from '../dispatch/wake-ups.ts';
import { cancelled } from '../execution/terminations.ts';
import { hasEnded } from '../dispatch/completion-waiters.ts';
import type { ExecutionLinks, LinksOf } from '../execution/links.ts';

export interface CancellationDependencies {
  readonly engine: Pick<Engine, 'terminate' | 'pause' | 'resume'>;
  readonly executions: Pick<ExecutionApi, 'readWhole'>;
  readonly hints: Pick<WakeUps, 'executionChanged'>;
  readonly linksOf: LinksOf;
}

/**
 * Cancels an execution. It is paused while its tasks are looked at: nobody hands out a task of a paused one (see
 * withheld-tasks.ts).
 * @returns it, cancelled; also when it had been before
 * @throws Problem `execution-ended` or `execution-under-way` (409); EngineError, and then it goes on
 */
export async function cancelExecution(
  execution: WholeExecution,
  parts: CancellationDependencies,
): Promise<WholeExecution> {
  const { engine, executions, hints, linksOf } = parts;
  const { workflowId } = execution;
  const read = async () => (await executions.readWhole(workflowId)) ?? execution;
  const before = hasEnded(execution) ? execution : await read();
  if (hasEnded(before)) return expectCancelled(before, linksOf);
  if (!isUntouched(before)) throw underWay(linksOf(workflowId));
  // One that has ended meanwhile cannot be paused.
  if (!(await engine.pause(workflowId))) return expectCancelled(await read(), linksOf);
  try {
    const paused = await read();
    if (hasEnded(paused)) return expectCancelled(paused, linksOf);
    if (!isUntouched(paused)) throw underWay(linksOf(workflowId));
    await engine.terminate(workflowId, cancelled);
  } catch (error) {
    await engine.resume(workflowId).catch(() => undefined);
    throw error;
  }
  hints.executionChanged(workflowId);
  return expectCancelled(await read(), linksOf);
}

function expectCancelled(execution: WholeExecution, linksOf: LinksOf): WholeExecution {
  const { workflowId, status, reasonForIncompletion } = execution;
  if (status === 'TERMINATED' && reasonForIncompletion === cancelled) return execution;
  if (!hasEnded(execution)) throw new EngineError('refused', 'the engine did not cancel the execution');
  throw new Problem('execution-ended', {
    detail: 'Its answer is at the link `response`.',
    extensions: { links: linksOf(workflowId) },
  });
}

function underWay(links: ExecutionLinks): Problem {
  return new Problem('execution-under-way', {
    detail: 'It goes on; its answer will be at the link `response`.',
    extensions: { links },
  });
}
