// Starts one execution for each Idempotency-Key: the first request starts it, and later requests receive its result.

import { Counter, type Registry } from 'prom-client';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { NoExecutionIndex } from '#lib/conductor/executions/execution-index.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { type Extensions, Problem } from '#lib/problem/problem.ts';
import type { LinksOf } from '../execution/links.ts';
import { LateRead, readBefore, remainingMs } from '../execution/time-limits.ts';
import { engineUnavailable } from '../execution/engine-unavailable.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import type { IdempotencyLock, IdempotencyLocks } from './idempotency-locks.ts';
import { findFirst, isSameRequest, type KeyedExecutions, type KeyedStart } from './first-execution.ts';

/** Dependencies of {@link IdempotentStart}. */
export interface IdempotentStartDependencies {
  readonly locks: IdempotencyLocks;
  readonly executions: KeyedExecutions;
  /** The same API with a short timeout for each call. It is used while admission control rejects requests. */
  readonly urgent: KeyedExecutions;
  /** True while admission control rejects requests. */
  readonly isRefusing: () => boolean;
  readonly codec: PayloadCodec;
  readonly linksOf: LinksOf;
  /** The counter of `createKeyMetrics`. */
  readonly requests: Counter<'outcome'>;
  /** Timeout of one call to the engine, in milliseconds. A lock must outlive the start. */
  readonly callMs: number;
}

/**
 * Longest wait for the first request's start, in milliseconds. The wait ends earlier if the response deadline comes
 * first.
 */
const maxStartWaitMs = 5_000;
/** Pauses between attempts to acquire the lock, in milliseconds; each is twice as long as the previous one. */
const firstPauseMs = 100;
const longestPauseMs = 1_600;
/** Maximum number of concurrent lookups while admission control rejects requests. Further requests are rejected too. */
const maxLookUps = 16;

/**
 * `started`: this request started the execution. `first`: the execution that an earlier request started. `problem` says
 * why the response of that execution cannot be repeated: `idempotency-key-reused` (422), or `idempotency-key-in-use`
 * (409) while the execution runs.
 */
export type IdempotentOutcome<T> =
  | { readonly started: T }
  | { readonly first: WholeExecution; readonly problem?: Problem };

/** Registers the counter of requests with a key. */
export function createKeyMetrics(metrics: Registry): Counter<'outcome'> {
  return new Counter({
    name: 'router_idempotent_requests_total',
    help: 'Requests with an Idempotency-Key: started, replayed, in_use (409), reused (422), unavailable (503), or not_started (the start was rejected or failed)',
    labelNames: ['outcome'],
    registers: [metrics],
  });
}

/** Starts executions for requests with an Idempotency-Key. */
export class IdempotentStart {
  readonly #dependencies: IdempotentStartDependencies;
  #lookUps = 0;

  constructor(dependencies: IdempotentStartDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Starts an execution unless the key already has one.
   * @param gone aborts when the client disconnects
   * @param start starts the execution with `keyed.name` as its correlation id. It must not start anything once
   *   performance.now() has reached `before`, because another request may hold the lock by then
   * @returns null when the client disconnected during the wait
   * @throws Problem `idempotency-key-in-use` (409), `payload-unreadable` (502), `overloaded`, `idempotency-unavailable`
   *   or `engine-unavailable` (503), and any error that `start` throws
   */
  async start<T extends { readonly executionId?: string }>(
    keyed: KeyedStart,
    gone: AbortSignal,
    start: (before: number) => Promise<T>,
  ): Promise<IdempotentOutcome<T> | null> {
    const deadlineAt = Math.min(performance.now() + maxStartWaitMs, keyed.startBefore);
    for (let pauseMs = firstPauseMs; !gone.aborted; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      const lock = await this.#acquire(keyed);
      // Another request holds the lock, so the execution can be found only after that request has started it.
      if (lock === null) {
        await this.#dependencies.locks.waitForRelease(keyed.name, Math.min(pauseMs, remainingMs(deadlineAt)));
      }
      const first = await this.#find(keyed, lock);
      if (first !== undefined) return this.#replayOf(first, keyed);
      if (lock !== null) return { started: await this.#startWith(lock, start) };
      if (performance.now() >= deadlineAt) throw this.#inUse({});
    }
    return null;
  }

  async #acquire({ name }: KeyedStart): Promise<IdempotencyLock | null> {
    try {
      return await this.#dependencies.locks.acquire(name);
    } catch (error) {
      this.#count('unavailable');
      throw error;
    }
  }

  async #find(keyed: KeyedStart, lock: IdempotencyLock | null): Promise<WholeExecution | undefined> {
    const { isRefusing, urgent, executions } = this.#dependencies;
    const isUrgent = isRefusing();
    try {
      if (isUrgent && this.#lookUps >= maxLookUps) throw new Problem('overloaded', { headers: { 'retry-after': '1' } });
      this.#lookUps += 1;
      const found = findFirst(keyed, lock !== null, isUrgent ? urgent : executions).finally(() => {
        this.#lookUps -= 1;
      });
      const first = await readBefore(keyed.startBefore, found);
      if (first !== undefined) lock?.release();
      return first;
    } catch (cause) {
      // The deadline passed during the search for the execution that the holder of the lock may have started.
      if (lock === null && cause instanceof LateRead) throw this.#inUse({});
      lock?.release();
      this.#count('unavailable');
      if (!(cause instanceof EngineError)) throw cause;
      if (cause instanceof NoExecutionIndex) throw idempotencyUnavailable(cause);
      throw engineUnavailable(cause);
    }
  }

  async #startWith<T extends { readonly executionId?: string }>(
    lock: IdempotencyLock,
    start: (before: number) => Promise<T>,
  ): Promise<T> {
    try {
      const started = await start(lock.expiresAt - 2 * this.#dependencies.callMs);
      lock.release();
      this.#count(started.executionId === undefined ? 'not_started' : 'started');
      return started;
    } catch (error) {
      // Only 503 guarantees that nothing was started. After any other failure, the lock is held until it expires.
      if (error instanceof Problem && error.status === 503) lock.release();
      this.#count('not_started');
      throw error;
    }
  }

  #replayOf(first: WholeExecution, { request }: KeyedStart): IdempotentOutcome<never> {
    if (!isSameRequest(first, request, this.#dependencies.codec)) {
      this.#count('reused');
      const detail =
        'The key was used before with another method, path, query or body. Use a new key for each request.';
      return { first, problem: new Problem('idempotency-key-reused', { detail }) };
    }
    if (!hasEnded(first))
      return { first, problem: this.#inUse({ links: this.#dependencies.linksOf(first.workflowId) }) };
    this.#count('replayed');
    return { first };
  }

  #inUse(extensions: Extensions): Problem {
    this.#count('in_use');
    return new Problem('idempotency-key-in-use', { headers: { 'retry-after': '1' }, extensions });
  }

  #count(outcome: 'started' | 'not_started' | 'replayed' | 'in_use' | 'reused' | 'unavailable'): void {
    this.#dependencies.requests.inc({ outcome });
  }
}

function idempotencyUnavailable(cause: NoExecutionIndex): Problem {
  const detail = 'The executions of earlier requests cannot be searched.';
  return new Problem('idempotency-unavailable', { detail, headers: { 'retry-after': '1' }, cause });
}
