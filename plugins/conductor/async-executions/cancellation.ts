// Cancels executions that no worker has taken. Executions that a worker has taken continue.

import { setTimeout as pause } from 'node:timers/promises';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { isUntouched } from '#lib/conductor/executions/superseded.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { WakeUps } from '../dispatch/wake-ups.ts';
import { cancelled } from '../execution/terminations.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import type { ExecutionLinks, LinksOf } from '../execution/links.ts';

/** What {@link cancelExecution} works with. */
export interface CancellationDependencies {
  readonly engine: Pick<Engine, 'terminate' | 'pause' | 'resume'>;
  readonly executions: Pick<ExecutionApi, 'readWhole' | 'readState'>;
  readonly wakeUps: Pick<WakeUps, 'executionChanged'>;
  readonly linksOf: LinksOf;
  /** Aborts when the router starts to drain. */
  readonly draining: AbortSignal;
}

/** Longest time for which a router tries to resume an execution that it did not cancel, in milliseconds. */
const maxResumeMs = 10 * 60_000;
const resumePauseMs = 1_000;
/** How long the engine may take to pause an execution, in milliseconds: it waits up to a minute for its lock. */
const maxPauseMs = 75_000;

/**
 * Cancels an execution. The execution is paused while its tasks are checked, because no router hands out a task of a
 * paused execution (see withheld-tasks.ts).
 * @returns the cancelled execution; also when it had been cancelled before
 * @throws Problem `execution-ended` or `execution-under-way` (409); EngineError, and then the execution continues as soon
 *   as the engine responds again
 */
export async function cancelExecution(
  execution: WholeExecution,
  dependencies: CancellationDependencies,
): Promise<WholeExecution> {
  const { engine, executions, wakeUps, linksOf } = dependencies;
  const { workflowId } = execution;
  const read = async () => (await executions.readWhole(workflowId)) ?? execution;
  const before = hasEnded(execution) ? execution : await read();
  if (hasEnded(before)) return expectCancelled(before, linksOf);
  if (!isUntouched(before)) throw executionUnderWay(linksOf(workflowId));
  const isPaused = await engine.pause(workflowId).catch((error: unknown) => {
    if (!(error instanceof EngineError && error.hadNoEffect)) void resumeLatePause(workflowId, dependencies);
    throw error;
  });
  // An execution that has ended in the meantime cannot be paused.
  if (!isPaused) return expectCancelled(await read(), linksOf);
  try {
    const paused = await read();
    if (hasEnded(paused)) return expectCancelled(paused, linksOf);
    if (!isUntouched(paused)) throw executionUnderWay(linksOf(workflowId));
    await engine.terminate(workflowId, cancelled);
  } catch (error) {
    await resume(workflowId, dependencies);
    throw error;
  }
  wakeUps.executionChanged(workflowId);
  return expectCancelled(await read(), linksOf);
}

/** Resumes an execution, in the background when the engine cannot do it now. */
async function resume(executionId: string, dependencies: CancellationDependencies): Promise<void> {
  if (!(await isResumed(executionId, dependencies))) void resumeLater(executionId, dependencies);
}

/** Resumes an execution. @returns false when it may still be paused */
async function isResumed(
  executionId: string,
  { engine, executions }: Pick<CancellationDependencies, 'engine' | 'executions'>,
): Promise<boolean> {
  try {
    await engine.resume(executionId);
    return true;
  } catch {
    // Conductor responds 500 when it fails, and also when the execution is not paused.
    return executions.readState(executionId).then(
      (state) => state !== 'PAUSED',
      () => false,
    );
  }
}

/** Resumes an execution once the engine can. The engine does not evaluate a paused execution, so no time-out ends it. */
async function resumeLater(executionId: string, dependencies: CancellationDependencies): Promise<void> {
  const { draining } = dependencies;
  const deadline = performance.now() + maxResumeMs;
  do {
    await pause(resumePauseMs, undefined, { signal: draining, ref: false }).catch(() => undefined);
    if (await isResumed(executionId, dependencies)) return;
  } while (!draining.aborted && performance.now() < deadline);
}

/** Resumes an execution whose pause has failed, because the engine may have performed it, or may still do so. */
async function resumeLatePause(executionId: string, dependencies: CancellationDependencies): Promise<void> {
  const { executions, draining } = dependencies;
  const failedAt = performance.now();
  let wasPaused = false;
  for (let waitMs = maxPauseMs; !draining.aborted && performance.now() < failedAt + waitMs;) {
    await pause(resumePauseMs, undefined, { signal: draining, ref: false }).catch(() => undefined);
    const status = await executions.readState(executionId).catch(() => undefined);
    if (status === null || (status !== undefined && hasEnded({ status }))) return;
    const isPaused = status === 'PAUSED';
    // Another request for its cancellation pauses the execution only for a moment, and resumes it itself.
    if (isPaused && (wasPaused || draining.aborted)) return resume(executionId, dependencies);
    wasPaused = isPaused;
    waitMs = status === 'RUNNING' ? maxPauseMs : maxResumeMs;
  }
}

function expectCancelled(execution: WholeExecution, linksOf: LinksOf): WholeExecution {
  const { workflowId, status, reasonForIncompletion } = execution;
  if (status === 'TERMINATED' && reasonForIncompletion === cancelled) return execution;
  if (!hasEnded(execution)) throw new EngineError('refused', 'the engine did not cancel the execution');
  throw new Problem('execution-ended', {
    detail: 'Its response is at the link `response`.',
    extensions: { links: linksOf(workflowId) },
  });
}

function executionUnderWay(links: ExecutionLinks): Problem {
  return new Problem('execution-under-way', {
    detail: 'It continues; its response will be at the link `response`.',
    extensions: { links },
  });
}
