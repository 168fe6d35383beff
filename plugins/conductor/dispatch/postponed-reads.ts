// Dispatches a read again that its worker has postponed: reported as IN_PROGRESS, with callbackAfterSeconds.
//
// The engine has the task queued in the direct domain, which no worker polls. A router that stops forgets its postponed
// reads.

import type { Engine } from '#lib/conductor/engine.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { isDirectDomain, poolDomain } from '#lib/conductor/executions/direct-domain.ts';
import type { Task } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { DirectDispatch } from './direct-dispatch.ts';
import { findTask, isPending } from './dispatched-task.ts';

/** Longest delay of a timer in milliseconds; Node runs a longer one at once. */
const maxTimerMs = 2 ** 31 - 1;
/** Pause in milliseconds before a task is read again when the engine has not responded. */
const rereadMs = 1_000;

/** What {@link dispatchAfter} depends on. */
export interface PostponedReadsDependencies {
  engine: Pick<Engine, 'request'>;
  directDispatch: Pick<DirectDispatch, 'dispatch'>;
  log: Logger;
}

/**
 * Dispatches a postponed read later, whichever router dispatched it first, unless it has ended by then. Until then, only
 * its id stays in memory, because the input holds the request of a client that may leave.
 * @param taskId id of a directly dispatched task
 */
export function dispatchAfter(seconds: number, taskId: string, dependencies: PostponedReadsDependencies): void {
  const dispatch = () => void dispatchAgain(taskId, dependencies);
  setTimeout(dispatch, Math.min(seconds * 1_000, maxTimerMs)).unref();
}

/** Logs the first error and never rejects. During an outage of the engine, it tries again until the engine responds. */
async function dispatchAgain(taskId: string, dependencies: PostponedReadsDependencies, isFirst = true): Promise<void> {
  const { engine, directDispatch, log } = dependencies;
  try {
    const pending = await findTask(engine, taskId);
    // Workers poll a task of any other domain, even if a result gives it the id of a dispatched one.
    if (pending === undefined || !isPending(pending) || !isDirectDomain(pending.domain)) return;
    const { domain: direct, ...rest } = pending;
    const domain = poolDomain(direct);
    const task = { ...(rest as Task), taskId, status: 'IN_PROGRESS', ...(domain && { domain }) };
    directDispatch.dispatch({ taskType: task.taskDefName, domain }, task);
  } catch (error) {
    if (isFirst) log.warn({ taskId, ...errorFields(error) }, 'could not read a postponed task');
    if (!isOutage(error)) return;
    setTimeout(() => void dispatchAgain(taskId, dependencies, false), rereadMs).unref();
  }
}

function isOutage(error: unknown): boolean {
  return error instanceof EngineError && (error.kind !== 'refused' || (error.status ?? 500) >= 500);
}
