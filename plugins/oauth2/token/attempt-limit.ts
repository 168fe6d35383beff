// Limits the number of attempts with a wrong secret per minute. The limit is exact, because attempts in flight count as
// failed.

import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Clock } from '../clock.ts';
import { type Attempt, type LimitedKey, limitedKeys } from './attempt.ts';

/** The attempt was not made, because too many earlier attempts have failed. */
export class TooManyAttemptsError extends Error {
  override readonly name = 'TooManyAttemptsError';
  readonly retryAfterSeconds: number;
  constructor(retryAfterSeconds: number) {
    super('too many failed attempts');
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Attempts in flight for one key, and the callers that wait for one of them to end. */
interface Gate {
  open: number;
  readonly waiting: Set<() => void>;
}

const windowSeconds = 60;
const maxWaiting = 256;

/** Counts failed attempts in the memory of this router. */
export class AttemptLimit {
  readonly #clock: Clock;
  readonly #maxWaitMs: () => number;
  readonly #failures = new RateLimiterMemory({ points: 1, duration: windowSeconds });
  readonly #gates = new Map<string, Gate>();
  #lastStep: Promise<unknown> = Promise.resolve();

  /** @param maxWaitMs maximum wait for attempts in flight, in milliseconds */
  constructor(clock: Clock, maxWaitMs: () => number) {
    this.#clock = clock;
    this.#maxWaitMs = maxWaitMs;
  }

  /**
   * Runs `action` unless the limit is reached. Waits first while the attempts in flight could reach the limit.
   * @param isFailure returns whether an error from `action` counts as a failed attempt
   * @throws TooManyAttemptsError without running `action`; else the error from `action`
   */
  async run<T>(attempt: Attempt, action: () => Promise<T>, isFailure: (error: unknown) => boolean): Promise<T> {
    const keys = limitedKeys(attempt);
    const deadlineMs = this.#clock.ticksMs() + this.#maxWaitMs();
    for (;;) {
      const ended = await this.#inTurn(() => this.#enter(keys));
      if (ended === undefined) break;
      if (!(await this.#isBefore(deadlineMs, ended))) throw new TooManyAttemptsError(1);
    }
    let failed = false;
    try {
      return await action();
    } catch (error) {
      failed = isFailure(error);
      throw error;
    } finally {
      await this.#inTurn(() => this.#leave(keys, failed));
    }
  }

  /** Runs steps one at a time, so that the state does not change between a step's reads and its writes. */
  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#lastStep.then(step);
    this.#lastStep = result.catch(() => undefined);
    return result;
  }

  /**
   * Returns undefined when the attempt may proceed, otherwise the gate at which it must wait.
   * @throws TooManyAttemptsError
   */
  async #enter(keys: readonly LimitedKey[]): Promise<Gate | undefined> {
    for (const { key, limit } of keys) {
      const state = await this.#failures.get(key);
      const failures = state?.consumedPoints ?? 0;
      const gate = this.#gates.get(key);
      if (failures >= limit) throw new TooManyAttemptsError(secondsToEnd(state?.msBeforeNext ?? 0));
      if (gate === undefined || failures + gate.open < limit) continue;
      if (gate.waiting.size >= maxWaiting) throw new TooManyAttemptsError(1);
      return gate;
    }
    for (const { key } of keys) {
      const gate = this.#gates.get(key) ?? { open: 0, waiting: new Set() };
      gate.open++;
      this.#gates.set(key, gate);
    }
    return undefined;
  }

  async #leave(keys: readonly LimitedKey[], failed: boolean): Promise<void> {
    for (const { key } of keys) {
      if (failed) await this.#failures.penalty(key);
      const gate = this.#gates.get(key);
      if (gate === undefined) continue;
      gate.open--;
      if (gate.open === 0) this.#gates.delete(key);
      for (const wake of gate.waiting) wake();
    }
  }

  /** Returns whether one of the attempts in `gate` ends before the deadline. */
  #isBefore(deadlineMs: number, gate: Gate): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (inTime: boolean) => {
        cancel();
        gate.waiting.delete(wake);
        resolve(inTime);
      };
      const wake = () => settle(true);
      const cancel = this.#clock.after(Math.max(0, deadlineMs - this.#clock.ticksMs()), () => settle(false));
      gate.waiting.add(wake);
    });
  }
}

/**
 * Returns the time to the end of a window in whole seconds. A timer of rate-limiter-flexible ends the window, but
 * `msBeforeNext` is computed from the time of day, which can be set back. The result is therefore limited to the length
 * of the window.
 */
function secondsToEnd(msBeforeNext: number): number {
  return Math.min(Math.max(1, Math.ceil(msBeforeNext / 1000)), windowSeconds);
}
