// Woken waits: a client's wait ends the moment its execution ends, because the update that ends it passes through here.

import { TransientMap } from '#lib/gc/transient-map.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import type { ExecutionStatus } from '#lib/conductor/types.ts';

/** Of one execution; whoever waits for it shares the reads. */
interface Wait {
  readonly waiters: Set<(status: ExecutionStatus) => void>;
  timer: NodeJS.Timeout | undefined;
  /** Pause before the next fallback read. */
  pauseMs: number;
  reading: boolean;
  /** A wake-up came while a read was under way: what it read may be older. */
  readAgain: boolean;
}

/** Fallback reads: for what no update through this router announces. */
const shortestPauseMs = 50;
const longestPauseMs = 2_000;

/** Wake-ups kept for executions nobody waits for yet: the update may overtake the answer to the start. */
const earlyWakeUps = 2_000;

/** All waits of this router. */
export class CompletionWaiters {
  readonly #engine: Pick<Engine, 'getStatus'>;
  readonly #log: Logger;
  readonly #waits = new TransientMap<string, Wait>();
  readonly #early = new Set<string>();
  #size = 0;
  #whenIdle: (() => void)[] = [];
  /** Moving average of how long a wait lasts until it is woken: fallback reads begin well after it. */
  #usualMs = shortestPauseMs;

  constructor(engine: Pick<Engine, 'getStatus'>, log: Logger) {
    this.#engine = engine;
    this.#log = log;
  }

  /** Waits under way, several of one execution included. */
  get size(): number {
    return this.#size;
  }

  /** Resolves when no wait is under way. */
  async whenIdle(): Promise<void> {
    if (this.#size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenIdle.push(resolve);
    await promise;
  }

  /**
   * Waits for the end of an execution.
   * @param budgetMs ends the wait when it is spent
   * @param signals each ends the wait: its client has gone, the router drains. They get listeners, not `AbortSignal.any`: a
   *   signal that lives as long as the process would collect a dependent of each request (nodejs/node#64476)
   * @returns the ended execution, or null when the budget or a signal came first
   */
  async waitFor(
    executionId: string,
    budgetMs: number,
    ...signals: readonly AbortSignal[]
  ): Promise<ExecutionStatus | null> {
    if (signals.some(({ aborted }) => aborted)) return null;
    const startedAt = performance.now();
    const { promise, resolve } = Promise.withResolvers<ExecutionStatus | null>();
    const abort = () => resolve(null);
    const budget = setTimeout(abort, budgetMs);
    for (const signal of signals) signal.addEventListener('abort', abort, { once: true });
    const wait = this.#waits.get(executionId) ?? this.#begin(executionId);
    wait.waiters.add(resolve);
    this.#size++;
    try {
      return await promise;
    } finally {
      for (const signal of signals) signal.removeEventListener('abort', abort);
      clearTimeout(budget);
      wait.waiters.delete(resolve);
      if (wait.waiters.size === 0) this.#end(executionId, wait);
      this.#size--;
      if (this.#size === 0) for (const idle of this.#whenIdle.splice(0)) idle();
      this.#usualMs += 0.1 * (Math.min(performance.now() - startedAt, longestPauseMs / 3) - this.#usualMs);
    }
  }

  /**
   * An execution has changed.
   * @param status what the engine said of it, when it said so; else it is read
   * @returns whether somebody waits for it here
   */
  wake(executionId: string, status?: ExecutionStatus): boolean {
    const wait = this.#waits.get(executionId);
    if (wait === undefined) this.#rememberEarly(executionId);
    else if (status !== undefined && hasEnded(status)) this.#settle(executionId, wait, status);
    else void this.#read(executionId, wait);
    return wait !== undefined;
  }

  #begin(executionId: string): Wait {
    const pauseMs = Math.max(shortestPauseMs, 3 * this.#usualMs);
    const wait: Wait = { waiters: new Set(), timer: undefined, pauseMs, reading: false, readAgain: false };
    this.#waits.set(executionId, wait);
    if (this.#early.delete(executionId)) void this.#read(executionId, wait);
    else this.#readLater(executionId, wait);
    return wait;
  }

  #end(executionId: string, wait: Wait): void {
    clearTimeout(wait.timer);
    if (this.#waits.get(executionId) === wait) this.#waits.delete(executionId);
  }

  /** Whoever comes from now on begins anew. */
  #settle(executionId: string, wait: Wait, status: ExecutionStatus): void {
    this.#end(executionId, wait);
    for (const resolve of wait.waiters) resolve(status);
  }

  #rememberEarly(executionId: string): void {
    this.#early.add(executionId);
    if (this.#early.size > earlyWakeUps) this.#early.delete(this.#early.values().next().value as string);
  }

  #readLater(executionId: string, wait: Wait): void {
    clearTimeout(wait.timer);
    const jitter = 0.8 + 0.4 * Math.random();
    wait.timer = setTimeout(() => void this.#read(executionId, wait), wait.pauseMs * jitter);
    wait.pauseMs = Math.min(wait.pauseMs * 1.6, longestPauseMs);
  }

  async #read(executionId: string, wait: Wait): Promise<void> {
    if (wait.reading) {
      wait.readAgain = true;
      return;
    }
    wait.reading = true;
    do {
      wait.readAgain = false;
      try {
        const status = await this.#engine.getStatus(executionId);
        if (hasEnded(status)) return this.#settle(executionId, wait, status);
      } catch (error) {
        // The engine may be back before the budget is spent; until then the wait goes on.
        this.#log.debug({ executionId, ...errorFields(error) }, 'status not read');
      }
    } while (wait.readAgain && this.#waits.get(executionId) === wait);
    wait.reading = false;
    if (this.#waits.get(executionId) === wait) this.#readLater(executionId, wait);
  }
}

/** True for the statuses an execution does not leave by itself. */
export function hasEnded({ status }: Pick<ExecutionStatus, 'status'>): boolean {
  return status !== 'RUNNING' && status !== 'PAUSED';
}
