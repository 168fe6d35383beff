// Starts one execution for each Idempotency-Key: the first request starts it, later ones receive its result.

import { Counter, type Registry } from 'prom-client';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { ExecutionApi, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import type { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { LinksOf } from '../execution/links.ts';
import { hasEnded } from '../dispatch/completion-waiters.ts';
import type { IdempotencyLock, IdempotencyLocks } from './idempotency-locks.ts';
import { findFirst, isSameRequest, type KeyedStart } from './first-execution.ts';

/** What {@link IdempotentStart} works with. */
export interface IdempotentStartDependencies {
  readonly claims: IdempotencyLocks;
  readonly executions: Pick<ExecutionApi, 'correlated' | 'search' | 'readWhole'>;
  /** The same API with a short deadline for each call: for requests that admission control rejects. */
  readonly recorded: IdempotentStartDependencies['executions'];
  readonly codec: PayloadCodec;
  readonly linksOf: LinksOf;
  /** The counter of `createKeyMetrics`. */
  readonly requests: Counter<'outcome'>;
  /** Timeout of one call to the engine, in milliseconds: a lock must outlive the start. */
  readonly callMs: number;
}

/** How long a request waits for the first request's start, in milliseconds. */
const maxStartWaitMs = 5_000;
/** Pauses between the attempts, in milliseconds; each is twice as long as the previous one. */
const firstPauseMs = 100;
const longestPauseMs = 1_600;
/** Maximum number of concurrent look-ups for rejected requests; above it, they are rejected without a look-up. */
const maxLookUps = 16;

/** `started`: this request started the execution. `first`: an earlier request did, and its execution has ended. */
export type IdempotentOutcome<T> = { readonly started: T } | { readonly first: WholeExecution };

/** Registers the counter of requests with a key. */
export function createKeyMetrics(metrics: Registry): Counter<'outcome'> {
  return new Counter({
    name: 'router_idempotent_requests_total',
    help: 'Requests with an Idempotency-Key',
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
   * Starts an execution unless the key has one.
   * @param gone aborts when the client disconnects
   * @param start starts it, with `keyed.name` as its correlation id
   * @returns null when the client disconnected during the wait
   * @throws Problem `idempotency-key-reused` (422), `idempotency-key-in-use` (409), `idempotency-unavailable` or
   *   `engine-unavailable` (503), and what `start` throws
   */
  async start<T>(keyed: KeyedStart, gone: AbortSignal, start: () => Promise<T>): Promise<IdempotentOutcome<T> | null> {
    const deadline = performance.now() + maxStartWaitMs;
    for (let pauseMs = firstPauseMs; !gone.aborted; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      const lock = await this.#acquire(keyed);
      // Another request holds the lock: the execution is found only after its start.
      if (lock === null) await this.#dependencies.claims.waitForRelease(keyed.name, pauseMs);
      const first = await this.#find(keyed, lock);
      if (first !== undefined) return { first: this.#checkFirst(first, keyed) };
      if (lock !== null) return { started: await this.#startWith(lock, start) };
      if (performance.now() > deadline) throw this.#inUse();
    }
    return null;
  }

  /**
   * Finds the execution that the key of a rejected request has started, and starts none. Requests are rejected when
   * engine and router are overloaded, so only a few look-ups run at a time.
   * @returns undefined when there is none, or when the engine does not answer
   * @throws Problem `idempotency-key-reused` (422), `idempotency-key-in-use` (409)
   */
  async findRecorded(keyed: KeyedStart): Promise<WholeExecution | undefined> {
    if (this.#lookUps >= maxLookUps) return undefined;
    this.#lookUps += 1;
    try {
      const first = await findFirst(keyed, true, this.#dependencies.recorded);
      return first && this.#checkFirst(first, keyed);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      this.#count('unavailable');
      return undefined;
    } finally {
      this.#lookUps -= 1;
    }
  }

  async #acquire({ name }: KeyedStart): Promise<IdempotencyLock | null> {
    try {
      return await this.#dependencies.claims.acquire(name);
    } catch (error) {
      this.#count('unavailable');
      throw error;
    }
  }

  async #find(keyed: KeyedStart, lock: IdempotencyLock | null): Promise<WholeExecution | undefined> {
    try {
      const first = await findFirst(keyed, lock !== null, this.#dependencies.executions);
      if (first !== undefined) lock?.release();
      return first;
    } catch (cause) {
      lock?.release();
      this.#count('unavailable');
      if (!(cause instanceof EngineError)) throw cause;
      throw new Problem('engine-unavailable', { headers: { 'retry-after': '1' }, cause });
    }
  }

  async #startWith<T>(lock: IdempotencyLock, start: () => Promise<T>): Promise<T> {
    // A router that was suspended in the meantime may have lost its lock.
    if (lock.expiresAt - performance.now() < 2 * this.#dependencies.callMs) {
      lock.release();
      this.#count('unavailable');
      throw new Problem('idempotency-unavailable', { headers: { 'retry-after': '1' } });
    }
    try {
      const started = await start();
      lock.release();
      this.#count('started');
      return started;
    } catch (error) {
      // Only 503 guarantees that nothing was started. After any other failure the lock is held until it expires.
      if (error instanceof Problem && error.status === 503) lock.release();
      this.#count('not_started');
      throw error;
    }
  }

  #checkFirst(first: WholeExecution, { request, noteFirst }: KeyedStart): WholeExecution {
    noteFirst(first);
    if (!isSameRequest(first, request, this.#dependencies.codec)) {
      this.#count('reused');
      const detail =
        'The key was used with another method, path, query or body before. Use a new key for each request.';
      throw new Problem('idempotency-key-reused', { detail });
    }
    if (!hasEnded(first)) throw this.#inUse(first.workflowId);
    this.#count('replayed');
    return first;
  }

  #inUse(executionId?: string): Problem {
    this.#count('in_use');
    return new Problem('idempotency-key-in-use', {
      headers: { 'retry-after': '1' },
      ...(executionId === undefined ? {} : { extensions: { links: this.#dependencies.linksOf(executionId) } }),
    });
  }

  #count(outcome: 'started' | 'not_started' | 'replayed' | 'in_use' | 'reused' | 'unavailable'): void {
    this.#dependencies.requests.inc({ outcome });
  }
}
