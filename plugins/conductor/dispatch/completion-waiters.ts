// Lets clients wait for the completion of executions. Task updates that pass through this router wake the waiters at
// once.

import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import { BoundedSet } from '#lib/gc/bounded.ts';
import { TransientMap } from '#lib/gc/transient-map.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import type { ExecutionStatus } from '#lib/conductor/types.ts';

/** The waiters of one execution, which share its status reads. */
interface PendingCompletion {
  readonly waiters: Set<(status: ExecutionStatus) => void>;
  timer: NodeJS.Timeout | undefined;
  /** Pause before the next timed read. */
  pauseMs: number;
  reading: boolean;
  /** True after a wake-up during a read: that read may return an older status. */
  readAgain: boolean;
}

/** Pauses between timed reads (milliseconds), which find changes that no update through this router announces. */
const shortestPauseMs = 50;
const longestPauseMs = 2_000;

/**
 * Maximum number of wake-ups kept for executions without a waiter: an update may arrive before the response to the
 * start call.
 */
const maxEarlyWakeUps = 2_000;

/** All waiters of this router for the completion of executions. */
export class CompletionWaiters {
  readonly #engine: Pick<Engine, 'getStatus'>;
  readonly #log: Logger;
  readonly #pending = new TransientMap<string, PendingCompletion>();
  readonly #earlyWakeUps = new BoundedSet<string>(maxEarlyWakeUps);
  #size = 0;
  /** Number of starts in progress whose executions will be waited for. */
  #starting = 0;
  #whenIdle: (() => void)[] = [];
  /** Moving average of the duration of a wait, in milliseconds. Timed reads begin well after this time. */
  #averageWaitMs = shortestPauseMs;

  constructor(engine: Pick<Engine, 'getStatus'>, log: Logger) {
    this.#engine = engine;
    this.#log = log;
  }

  /** Number of waiters; several may wait for one execution. */
  get size(): number {
    return this.#size;
  }

  /** True when nobody waits, and no execution is being started for a client that will wait. */
  get isIdle(): boolean {
    return this.#size === 0 && this.#starting === 0;
  }

  /** Resolves when {@link isIdle} is or becomes true. */
  async whenIdle(): Promise<void> {
    if (this.isIdle) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenIdle.push(resolve);
    await promise;
  }

  /**
   * Calls `start`, which starts an execution. {@link isIdle} is false meanwhile.
   * @param start must begin to wait for the execution before it resolves
   */
  async whileStarting<T>(start: () => Promise<T>): Promise<T> {
    this.#starting++;
    try {
      return await start();
    } finally {
      this.#starting--;
      this.#endIfIdle();
    }
  }

  /**
   * Waits until an execution has ended.
   * @param timeoutMs longest wait, in milliseconds
   * @param signals each of them can end the wait, for example when the client disconnects. Listeners are added to them
   *   directly, because with `AbortSignal.any` a process-wide signal would retain one dependent signal for each request
   *   (nodejs/node#64476)
   * @returns the ended execution; null after the timeout or an abort
   */
  async waitFor(
    executionId: string,
    timeoutMs: number,
    ...signals: readonly AbortSignal[]
  ): Promise<ExecutionStatus | null> {
    if (signals.some(({ aborted }) => aborted)) return null;
    const startedAt = performance.now();
    const { promise, resolve } = Promise.withResolvers<ExecutionStatus | null>();
    const abort = () => resolve(null);
    const timer = setTimeout(abort, timeoutMs);
    for (const signal of signals) signal.addEventListener('abort', abort, { once: true });
    const pending = this.#pending.get(executionId) ?? this.#add(executionId);
    pending.waiters.add(resolve);
    this.#size++;
    try {
      return await promise;
    } finally {
      for (const signal of signals) signal.removeEventListener('abort', abort);
      clearTimeout(timer);
      pending.waiters.delete(resolve);
      if (pending.waiters.size === 0) this.#remove(executionId, pending);
      this.#size--;
      this.#endIfIdle();
      this.#averageWaitMs += 0.1 * (Math.min(performance.now() - startedAt, longestPauseMs / 3) - this.#averageWaitMs);
    }
  }

  /**
   * Wakes the waiters of a changed execution.
   * @param status the new status, if the engine has returned it; otherwise it is read
   * @returns whether the execution has a waiter here
   */
  wake(executionId: string, status?: ExecutionStatus): boolean {
    const pending = this.#pending.get(executionId);
    if (pending === undefined) this.#earlyWakeUps.add(executionId);
    else if (status !== undefined && hasEnded(status)) this.#complete(executionId, pending, status);
    else void this.#read(executionId, pending);
    return pending !== undefined;
  }

  #endIfIdle(): void {
    if (this.isIdle) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #add(executionId: string): PendingCompletion {
    const pauseMs = Math.max(shortestPauseMs, 3 * this.#averageWaitMs);
    const pending: PendingCompletion = {
      waiters: new Set(),
      timer: undefined,
      pauseMs,
      reading: false,
      readAgain: false,
    };
    this.#pending.set(executionId, pending);
    if (this.#earlyWakeUps.delete(executionId)) void this.#read(executionId, pending);
    else this.#readLater(executionId, pending);
    return pending;
  }

  #remove(executionId: string, pending: PendingCompletion): void {
    clearTimeout(pending.timer);
    if (this.#pending.get(executionId) === pending) this.#pending.delete(executionId);
  }

  /** Resolves all waiters. Later waiters start a new entry. */
  #complete(executionId: string, pending: PendingCompletion, status: ExecutionStatus): void {
    this.#remove(executionId, pending);
    for (const resolve of pending.waiters) resolve(status);
  }

  #readLater(executionId: string, pending: PendingCompletion): void {
    clearTimeout(pending.timer);
    const jitter = 0.8 + 0.4 * Math.random();
    pending.timer = setTimeout(() => void this.#read(executionId, pending), pending.pauseMs * jitter);
    pending.pauseMs = Math.min(pending.pauseMs * 1.6, longestPauseMs);
  }

  async #read(executionId: string, pending: PendingCompletion): Promise<void> {
    if (pending.reading) {
      pending.readAgain = true;
      return;
    }
    pending.reading = true;
    do {
      pending.readAgain = false;
      try {
        const status = await this.#engine.getStatus(executionId);
        if (hasEnded(status)) return this.#complete(executionId, pending, status);
      } catch (error) {
        // Keep waiting: the engine may respond again before the timeout.
        this.#log.debug({ executionId, ...errorFields(error) }, 'could not read the status of the execution');
      }
    } while (pending.readAgain && this.#pending.get(executionId) === pending);
    pending.reading = false;
    if (this.#pending.get(executionId) === pending) this.#readLater(executionId, pending);
  }
}
