// Cancelling an execution that no worker has taken. Engine and workers decide the race; what it came to is read afterwards.

import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from '../../../conductor/engine.ts';
import type { ExecutedTask, ExecutionApi, WholeExecution } from '../../../conductor/executions/execution-api.ts';
import type { ExecutionStatus } from '../../../conductor/types.ts';
import { Problem } from '../../../problem/problem.ts';
import type { Hints } from '../hints.ts';
import { hasEnded } from '../waits.ts';
import { cancelled, cancelledTooLate } from '../terminations.ts';
import { linksOf } from './links.ts';

/** How long a poll that crosses the cancellation may take inside the engine to write down that it took the task. */
const crossingPollMs = 250;

/** True when no worker can have seen anything of an execution. */
export function isUntouched({ tasks }: Pick<WholeExecution, 'tasks'>): boolean {
  return tasks.every(isWaiting);
}

function isWaiting({ status, pollCount = 0, startTime = 0 }: ExecutedTask): boolean {
  return (status === 'SCHEDULED' || status === 'CANCELED') && pollCount === 0 && startTime === 0;
}

/**
 * The engine cancels whatever is under way as well. When a worker had taken the task by then, nothing was cancelled as
 * far as the back end is concerned: the reason then says so.
 */
export async function withOutcomeOfCancellation<T extends ExecutionStatus>(
  execution: T,
  api: Pick<ExecutionApi, 'readWhole'>,
): Promise<T> {
  if (execution.status !== 'TERMINATED' || execution.reasonForIncompletion !== cancelled) return execution;
  const whole = await api.readWhole(execution.workflowId);
  if (whole !== null && isUntouched(whole)) return execution;
  return { ...execution, reasonForIncompletion: cancelledTooLate };
}

export interface CancellationParts {
  readonly engine: Pick<Engine, 'terminate'>;
  readonly executions: Pick<ExecutionApi, 'readWhole'>;
  readonly hints: Pick<Hints, 'executionChanged'>;
}

/**
 * Cancels an execution.
 * @returns it, cancelled; also when it had been before
 * @throws Problem `execution-ended` or `execution-under-way` (409); EngineError
 */
export async function cancelExecution(execution: WholeExecution, parts: CancellationParts): Promise<WholeExecution> {
  if (hasEnded(execution)) return expectCancelled(execution);
  const { workflowId } = execution;
  const before = (await parts.executions.readWhole(workflowId)) ?? execution;
  if (hasEnded(before)) return expectCancelled(before);
  if (!isUntouched(before)) throw underWay(workflowId, 'A worker has it. Its answer will be at the link `response`.');
  await parts.engine.terminate(workflowId, cancelled);
  await pause(crossingPollMs);
  const after = (await parts.executions.readWhole(workflowId)) ?? before;
  parts.hints.executionChanged(workflowId);
  return expectCancelled(await withOutcomeOfCancellation(after, parts.executions));
}

function expectCancelled(execution: WholeExecution): WholeExecution {
  const { workflowId, status, reasonForIncompletion } = execution;
  if (status === 'TERMINATED' && reasonForIncompletion === cancelled) return execution;
  if (!hasEnded(execution)) throw underWay(workflowId, 'It was not cancelled. Try again.');
  if (status === 'TERMINATED' && reasonForIncompletion === cancelledTooLate)
    throw underWay(workflowId, 'A worker took it at the same moment; a write may have been applied.');
  throw new Problem('execution-ended', {
    detail: 'Its answer is at the link `response`.',
    extensions: { links: linksOf(workflowId) },
  });
}

function underWay(executionId: string, detail: string): Problem {
  return new Problem('execution-under-way', { detail, extensions: { links: linksOf(executionId) } });
}
