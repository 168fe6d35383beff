// One start a key: the first request starts the execution, every other one is shown it.

import { Counter, type Registry } from 'prom-client';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { ExecutionApi, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import type { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { LinksOf } from '../execution/links.ts';
import { hasEnded } from '../dispatch/completion-waiters.ts';
import type { IdempotencyLock, IdempotencyLocks } from './idempotency-locks.ts';
import { findFirst, isSameRequest, type KeyedStart } from './first-execution.ts';

export interface IdempotentStartDependencies {
  readonly claims: IdempotencyLocks;
  readonly executions: Pick<ExecutionApi, 'correlated' | 'search' | 'readWhole'>;
  /** The same, with a short deadline for each call: for requests that are refused. */
  readonly recorded: IdempotentStartDependencies['executions'];
  readonly codec: PayloadCodec;
  readonly linksOf: LinksOf;
  /** Of `createKeyMetrics`. */
  readonly requests: Counter<'outcome'>;
  /** What one call to the engine may take, in milliseconds: a claim must outlive the start. */
  readonly callMs: number;
}

/** How long a request waits until the first one has been started, in milliseconds. */
const startingMs = 5_000;
/** Pauses before the looks meanwhile, in milliseconds: each twice as long as the one before. */
const firstLookMs = 100;
const longestPauseMs = 1_600;
/** Refused requests that may look for what their key has started at the same time; more are refused unseen. */
const mostLookUps = 16;

/** `started`: this request has; `first`: another one had, and its execution has ended. */
export type IdempotentOutcome<T> = { readonly started: T } | { readonly first: WholeExecution };

/** Counts the requests with a key. */
export function createKeyMetrics(metrics: Registry): Counter<'outcome'> {
  return new Counter({
    name: 'router_idempotent_requests_total',
    help: 'Requests with an Idempotency-Key',
    labelNames: ['outcome'],
    registers: [metrics],
  });
}

export class IdempotentStart {
  readonly #parts: IdempotentStartDependencies;
  #lookUps = 0;

  constructor(parts: IdempotentStartDependencies) {
    this.#parts = parts;
  }

  /**
   * Starts an execution unless the key has one.
   * @param start starts it, with `keyed.name` as its correlation id
   * @returns null when the client left meanwhile
   * @throws Problem `idempotency-key-reused` (422), `idempotency-key-in-use` (409), `idempotency-unavailable` or
   *   `engine-unavailable` (503), and what `start` throws
   */
  async start<T>(keyed: KeyedStart, gone: AbortSignal, start: () => Promise<T>): Promise<IdempotentOutcome<T> | null> {
    const deadline = performance.now() + startingMs;
    for (let pauseMs = firstLookMs; !gone.aborted; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      const claim = await this.#take(keyed);
      // Somebody is about to start it: there is nothing to be found before.
      if (claim === null) await this.#parts.claims.whenFree(keyed.name, pauseMs);
      const first = await this.#find(keyed, claim);
      if (first !== undefined) return { first: this.#checkFirst(first, keyed) };
      if (claim !== null) return { started: await this.#startWith(claim, start) };
      if (performance.now() > deadline) throw this.#inUse();
    }
    return null;
  }

  /**
   * Finds the execution that the key of a refused request has started, and starts none. Refusals come when engine and
   * router have too much to do, so that only a few are looked up at a time.
   * @returns undefined when there is none, or nobody can tell now
   * @throws Problem `idempotency-key-reused` (422), `idempotency-key-in-use` (409)
   */
  async findRecorded(keyed: KeyedStart): Promise<WholeExecution | undefined> {
    if (this.#lookUps >= mostLookUps) return undefined;
    this.#lookUps += 1;
    try {
      const first = await findFirst(keyed, true, this.#parts.recorded);
      return first && this.#checkFirst(first, keyed);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      this.#count('unavailable');
      return undefined;
    } finally {
      this.#lookUps -= 1;
    }
  }

  async #take({ name }: KeyedStart): Promise<IdempotencyLock | null> {
    try {
      return await this.#parts.claims.take(name);
    } catch (error) {
      this.#count('unavailable');
      throw error;
    }
  }

  async #find(keyed: KeyedStart, claim: IdempotencyLock | null): Promise<WholeExecution | undefined> {
    try {
      const first = await findFirst(keyed, claim !== null, this.#parts.executions);
      if (first !== undefined) claim?.release();
      return first;
    } catch (cause) {
      claim?.release();
      this.#count('unavailable');
      if (!(cause instanceof EngineError)) throw cause;
      throw new Problem('engine-unavailable', { headers: { 'retry-after': '1' }, cause });
    }
  }

  async #startWith<T>(claim: IdempotencyLock, start: () => Promise<T>): Promise<T> {
    // A router that was suspended may have lost its claim meanwhile.
    if (claim.expiresAt - performance.now() < 2 * this.#parts.callMs) {
      claim.release();
      this.#count('unavailable');
      throw new Problem('idempotency-unavailable', { headers: { 'retry-after': '1' } });
    }
    try {
      const started = await start();
      claim.release();
      this.#count('started');
      return started;
    } catch (error) {
      // Only 503 says that nothing was started. After anything else the key stays claimed for a while.
      if (error instanceof Problem && error.status === 503) claim.release();
      this.#count('not_started');
      throw error;
    }
  }

  #checkFirst(first: WholeExecution, { request, noteFirst }: KeyedStart): WholeExecution {
    noteFirst(first);
    if (!isSameRequest(first, request, this.#parts.codec)) {
      this.#count('reused');
      const detail = 'The key came with another method, path, query or body before. Make a new key for each request.';
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
      ...(executionId === undefined ? {} : { extensions: { links: this.#parts.linksOf(executionId) } }),
    });
  }

  #count(outcome: 'started' | 'not_started' | 'replayed' | 'in_use' | 'reused' | 'unavailable'): void {
    this.#parts.requests.inc({ outcome });
  }
}
