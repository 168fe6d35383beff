// Dispatches a read again after its worker has postponed it by reporting IN_PROGRESS with callbackAfterSeconds.
//
// The engine keeps the task queued in the direct domain, which no worker polls. A router that stops forgets its
// postponed reads.

import type { Engine } from '#lib/conductor/engine.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { isDirectDomain, poolDomain } from '#lib/conductor/executions/direct-domain.ts';
import type { Task } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { DirectDispatch } from './direct-dispatch.ts';
import { findTask, isPending } from './dispatched-task.ts';

/** Longest delay of a timer in milliseconds; Node fires a timer with a longer delay at once. */
const maxTimerMs = 2 ** 31 - 1;
/** Pauses in milliseconds before a task is read again when the engine has not returned it. */
const firstPauseMs = 1_000;
const longestPauseMs = 5_000;
/** Maximum number of postponed reads; the oldest is forgotten first. */
const maxPostponed = 10_000;

/** Dependencies of {@link PostponedReads}. */
export interface PostponedReadsDependencies {
  engine: Pick<Engine, 'request'>;
  directDispatch: Pick<DirectDispatch, 'dispatch'>;
  log: Logger;
}

/** Dispatches postponed reads later, whichever router first dispatched them, unless they have ended by then. */
export class PostponedReads {
  readonly #dependencies: PostponedReadsDependencies;
  /**
   * Timers by task id. Only the id stays in memory, because the input holds the client's request and the client may
   * leave. An entry remains until its task has been read.
   */
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(dependencies: PostponedReadsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Dispatches a read after a delay. A worker may repeat the result that postpones the read; the last result counts.
   * @param taskId id of a directly dispatched task
   */
  dispatchAfter(seconds: number, taskId: string): void {
    this.#forget(taskId);
    this.#setTimer(taskId, seconds * 1_000, firstPauseMs);
    const [oldest] = this.#timers.keys();
    if (this.#timers.size > maxPostponed && oldest !== undefined) this.#forget(oldest);
  }

  /** Forgets all reads, because the engine cannot be called any more. */
  stop(): void {
    for (const taskId of this.#timers.keys()) this.#forget(taskId);
  }

  #setTimer(taskId: string, delayMs: number, pauseMs: number): void {
    const dispatch = () => void this.#dispatch(taskId, pauseMs);
    this.#timers.set(taskId, setTimeout(dispatch, Math.min(delayMs, maxTimerMs)).unref());
  }

  #forget(taskId: string): void {
    clearTimeout(this.#timers.get(taskId));
    this.#timers.delete(taskId);
  }

  /**
   * Reads a task from the engine and dispatches it if it is still pending. Tries again until the engine has returned
   * the task's state. Logs the first error and never rejects.
   * @param pauseMs pause before the next attempt, in milliseconds
   */
  async #dispatch(taskId: string, pauseMs: number): Promise<void> {
    const { engine, directDispatch, log } = this.#dependencies;
    const timer = this.#timers.get(taskId);
    try {
      const pending = await findTask(engine, taskId);
      // Another result has postponed the task again, or the read has been forgotten.
      if (this.#timers.get(taskId) !== timer) return;
      this.#timers.delete(taskId);
      // A task of any other domain is left to the polls of workers, even if a result has referred to it with an id in
      // the format of dispatched tasks.
      if (pending === undefined || !isPending(pending) || !isDirectDomain(pending.domain)) return;
      const { domain: direct, ...rest } = pending;
      const domain = poolDomain(direct);
      const task = { ...(rest as Task), taskId, status: 'IN_PROGRESS', ...(domain && { domain }) };
      directDispatch.dispatch({ taskType: task.taskDefName, domain }, task);
    } catch (error) {
      if (pauseMs === firstPauseMs) log.warn({ taskId, ...errorFields(error) }, 'could not read a postponed task');
      if (this.#timers.get(taskId) !== timer) return;
      if (isFinal(error)) this.#timers.delete(taskId);
      else this.#setTimer(taskId, pauseMs, Math.min(1.5 * pauseMs, longestPauseMs));
    }
  }
}

/**
 * True for an error that a repeated call would cause again. Of the engine's error responses, only a 400 concerns the
 * task itself.
 */
function isFinal(error: unknown): boolean {
  return !(error instanceof EngineError) || error.status === 400;
}
