// Admission control: starts a request's execution now, queues the request, or rejects it.

import { BoundedSet } from '#lib/gc/bounded.ts';
import { TransientMap } from '#lib/gc/transient-map.ts';
import type { EngineCall } from '#lib/conductor/engine.ts';
import { startOutcomeOf } from '#lib/conductor/start-outcome.ts';
import type { ExecutionEnding } from '../execution/outcome.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { AdaptiveLimit } from './adaptive-limit.ts';
import type { AdmissionMetrics, AdmissionOutcome } from './admission-metrics.ts';
import type { BackEnd } from './back-ends.ts';
import type { EngineBreaker } from './engine-breaker.ts';
import type { PermitRequest, RequestClass } from './bulkhead.ts';
import type { Permit, ConcurrencyLimiter } from './concurrency-limiter.ts';
import type { Rejection } from './fair-queue.ts';

/** Dependencies of {@link Admission}. */
export interface AdmissionDependencies {
  limit: AdaptiveLimit;
  limiter: ConcurrencyLimiter;
  engine: EngineBreaker;
  metrics: AdmissionMetrics;
}

/** The back end, request class and client for which a permit is requested. */
export interface AdmissionSubject {
  readonly backEnd: BackEnd;
  readonly requestClass: RequestClass;
  /** Client that sent the request. */
  readonly client: string;
}

/** A subject, with the signal and the deadline that end its wait in the queue. */
export interface AdmissionRequest extends AdmissionSubject {
  /** Aborts when the client disconnects. */
  readonly gone: AbortSignal;
  /** Nothing is started for the request from this time on (performance.now()). */
  readonly startBefore: number;
}

/** An admitted request: holds its permit until `end` is called. */
export interface Admitted {
  /** Links the permit to the execution that was started. Does nothing after `end`. */
  started(executionId: string): void;
  /** Releases the permit and records the outcome in the circuit breaker of the back end. Call it once. */
  end(ending: ExecutionEnding): void;
}

/**
 * Problems caused by the back end or by the workers in front of it. They count against the back end's circuit breaker.
 */
const backEndFailures: ReadonlySet<ProblemCode> = new Set([
  'back-end-timeout',
  'back-end-unreachable',
  'execution-timed-out',
  'wait-budget-spent',
] as const);
/**
 * The problems in `backEndFailures` that a stalled engine can cause too. They count only while the engine's breaker is
 * closed.
 */
const possibleEngineFailures: ReadonlySet<ProblemCode> = new Set(['execution-timed-out', 'wait-budget-spent'] as const);

const maxRetryAfterSeconds = 10;
/** How long load shedding stays active after a rejection, in milliseconds. */
const sheddingMs = 1_000;
/**
 * Maximum number of unmatched executions; the oldest entry is dropped. Executions started by events are never matched.
 */
const maxUnmatchedExecutions = 2_000;

/**
 * Grants permits from the concurrency limiter, unless the circuit breaker of the engine or of the back end rejects the
 * request.
 */
export class Admission {
  readonly #dependencies: AdmissionDependencies;
  /** Permits by execution id. An entry is removed when its permit is released. */
  readonly #permits = new TransientMap<string, Permit>();
  /**
   * Executions whose task went to a worker before `started` was called for them. Executions that no request of this
   * router started stay here until they are dropped.
   */
  readonly #unmatchedExecutions = new BoundedSet<string>(maxUnmatchedExecutions);
  #rejectedAt = Number.NEGATIVE_INFINITY;

  constructor(dependencies: AdmissionDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Admits a request, at once or after a wait in the queue.
   * @returns null when the client disconnected during the wait
   * @throws Problem 503 with Retry-After: `engine-unavailable`, `back-end-unavailable` or `overloaded`. Nothing was
   *   started
   */
  async admit(request: AdmissionRequest): Promise<Admitted | null> {
    const { limiter, metrics } = this.#dependencies;
    const { requestClass, gone, startBefore } = request;
    this.#rejectWhileOpen(request);
    const permitRequest = permitRequestOf(request);
    const leftMs = startBefore - performance.now();
    // Of the remaining time, at most half is reserved for the execution itself.
    const queueMs = Math.max(leftMs - limiter.averageHeldMs(permitRequest), leftMs / 2);
    const pending = limiter.acquire(permitRequest, gone, queueMs);
    const result = pending instanceof Promise ? await pending : pending;
    if ('rejection' in result) {
      if (result.rejection === 'gone') {
        metrics.count(requestClass, 'gone');
        return null;
      }
      throw this.#overloaded(requestClass, result.rejection, result.retryAfterMs);
    }
    const queued = result.queuedMs > 0;
    try {
      // A breaker may have opened during the wait.
      if (queued) this.#rejectWhileOpen(request);
    } catch (error) {
      limiter.release(result, false);
      throw error;
    }
    if (queued) metrics.waited(result.queuedMs);
    metrics.count(requestClass, queued ? 'queued' : 'admitted');
    return this.#admitted(request, result);
  }

  /**
   * True for one second after a rejection. Meanwhile, new requests are checked with {@link shed} before their pipeline
   * runs.
   */
  get isShedding(): boolean {
    return performance.now() - this.#rejectedAt < sheddingMs;
  }

  /**
   * True for a second after a rejection, and while the engine's circuit breaker rejects starts. Meanwhile, other calls
   * to the engine should be few and short.
   */
  get isRefusing(): boolean {
    return this.isShedding || this.#dependencies.engine.rejectsForMs !== undefined;
  }

  /**
   * Load shedding: rejects and counts a request that `admit` would reject now. Acquires no permit.
   * @throws Problem as in `admit`
   */
  shed(subject: AdmissionSubject): void {
    this.#rejectWhileOpen(subject);
    const rejected = this.#dependencies.limiter.rejectionOf(permitRequestOf(subject));
    if (rejected !== undefined) throw this.#overloaded(subject.requestClass, rejected.rejection, rejected.retryAfterMs);
  }

  /**
   * Records that this router has handed a task of an execution to a worker. From then on, the execution no longer
   * waits for a worker.
   */
  handedOut(executionId: string): void {
    const permit = this.#permits.get(executionId);
    if (permit !== undefined) return this.#dependencies.limiter.handedOut(permit);
    this.#unmatchedExecutions.add(executionId);
  }

  /** Feeds the adaptive limit and the engine's breaker with the outcome of a call to the engine. */
  observe(call: EngineCall): void {
    const { request, startedAt, ms, outcome } = call;
    const { limit, engine } = this.#dependencies;
    const start = startOutcomeOf(call);
    if (start === 'success' || start === 'failure') {
      engine.record(start, startedAt);
      if (start === 'success') limit.sample('start', ms);
      else if (outcome !== 'unreachable') limit.startFailed();
    } else if (start === 'inconclusive') {
      // The duration is a lower bound of the latency. It is counted, because under overload the limit must fall even if
      // all deadlines are short.
      if (outcome === 'interrupted') limit.sample('start', ms);
    } else if (outcome === 200 && request.method === 'POST' && request.path.startsWith('/api/tasks'))
      limit.sample('report', ms);
  }

  #admitted({ backEnd: { breaker }, requestClass }: AdmissionSubject, permit: Permit): Admitted {
    const { limit, limiter, engine } = this.#dependencies;
    limit.noteUse(limiter.inUse('waiting'));
    const leaveEngine = engine.enter();
    const leaveBackEnd = breaker.enter();
    // The time of the grant is not used here. The breaker may have become half-open after the grant, and a breaker
    // ignores the outcomes of calls that began before its last change of state.
    const enteredAt = performance.now();
    let startedId: string | undefined;
    let ended = false;
    return {
      started: (executionId) => {
        if (ended) return void this.#unmatchedExecutions.delete(executionId);
        startedId = executionId;
        this.#permits.set(executionId, permit);
        if (this.#unmatchedExecutions.delete(executionId)) limiter.handedOut(permit);
      },
      end: ({ problem, clientGone }) => {
        ended = true;
        const outcome = clientGone ? undefined : this.#outcomeOf(problem);
        // The execution of a disconnected client may continue. It keeps its permit for the average duration, so a
        // client gains no capacity by disconnecting early.
        const abandoned = clientGone && startedId !== undefined;
        const remainingMs = abandoned ? limiter.averageHeldMs(permit) - (performance.now() - permit.grantedAt) : 0;
        // The execution of a read is terminated, so no worker gets its task.
        if (abandoned && requestClass === 'read') limiter.withdraw(permit);
        const release = () => {
          if (startedId !== undefined) this.#permits.delete(startedId);
          limiter.release(permit, !abandoned && startedId !== undefined);
        };
        if (remainingMs > 0) setTimeout(release, remainingMs).unref();
        else release();
        if (outcome !== undefined) breaker.record(outcome, enteredAt);
        leaveEngine();
        leaveBackEnd();
      },
    };
  }

  #outcomeOf(problem: ProblemCode | undefined): 'success' | 'failure' | undefined {
    if (problem === undefined) return 'success';
    return this.#isBackEndFailure(problem) ? 'failure' : undefined;
  }

  #isBackEndFailure(problem: ProblemCode): boolean {
    if (!backEndFailures.has(problem)) return false;
    return !possibleEngineFailures.has(problem) || this.#dependencies.engine.state === 'closed';
  }

  #rejectWhileOpen({ requestClass, backEnd: { breaker } }: AdmissionSubject): void {
    const { engine } = this.#dependencies;
    const engineRejectsForMs = engine.rejectsForMs;
    if (engineRejectsForMs !== undefined)
      throw this.#rejected(requestClass, 'engine-open', unavailable('engine-unavailable', engineRejectsForMs));
    const backEndRejectsForMs = breaker.rejectsForMs;
    if (backEndRejectsForMs !== undefined)
      throw this.#rejected(requestClass, 'back-end-open', unavailable('back-end-unavailable', backEndRejectsForMs));
  }

  #overloaded(requestClass: RequestClass, rejection: Exclude<Rejection, 'gone'>, retryAfterMs: number): Problem {
    const headers = { 'retry-after': retryAfter(retryAfterMs) };
    return this.#rejected(
      requestClass,
      rejection,
      new Problem('overloaded', { detail: rejectionDetails[rejection], headers }),
    );
  }

  #rejected(requestClass: RequestClass, outcome: AdmissionOutcome, problem: Problem): Problem {
    this.#dependencies.metrics.count(requestClass, outcome);
    this.#rejectedAt = performance.now();
    return problem;
  }
}

function permitRequestOf({ backEnd: bulkhead, requestClass, client }: AdmissionSubject): PermitRequest {
  return { bulkhead, requestClass, client };
}

function unavailable(code: ProblemCode, forMs: number): Problem {
  return new Problem(code, { headers: { 'retry-after': retryAfter(forMs) } });
}

const rejectionDetails: Record<Exclude<Rejection, 'gone'>, string> = {
  full: 'The queue of waiting requests is full.',
  'too-long': 'The wait would be too long.',
  expired: 'The request waited too long.',
};

/** Value of `Retry-After`: whole seconds (RFC 9110 section 10.2.3), from 1 to 10. */
function retryAfter(ms: number): string {
  return String(Math.min(maxRetryAfterSeconds, Math.max(1, Math.ceil(ms / 1_000))));
}
