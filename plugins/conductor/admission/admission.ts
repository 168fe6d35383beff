// Admission control: who may start an execution now, who waits a moment, who is refused at once.

import { TransientMap } from '#lib/gc/transient-map.ts';
import type { EngineCall } from '#lib/conductor/engine.ts';
import type { ExecutionEnding } from '../../../gateway/plugin-api/plugin-api.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { AdaptiveLimit } from './adaptive-limit.ts';
import type { AdmissionMetrics, AdmissionOutcome } from './admission-metrics.ts';
import type { BackEnd } from './back-ends.ts';
import type { EngineBreaker } from './engine-breaker.ts';
import type { PermitRequest, RequestClass } from './bulkhead.ts';
import type { Permit, ConcurrencyLimiter } from './concurrency-limiter.ts';
import type { Rejection } from './fair-queue.ts';

export interface AdmissionDependencies {
  limit: AdaptiveLimit;
  slots: ConcurrencyLimiter;
  engine: EngineBreaker;
  metrics: AdmissionMetrics;
}

/** What a place is asked for. */
export interface AdmissionClaim {
  readonly backEnd: BackEnd;
  readonly requestClass: RequestClass;
  /** Whose request it is; clients take turns. */
  readonly client: string;
}

export interface AdmissionRequest extends AdmissionClaim {
  /** Aborts when the client has gone; asked for only by a request that has to wait. */
  readonly gone: () => AbortSignal;
}

/** A request that was let through. */
export interface Admitted {
  /** Its execution has been started. After the end it changes nothing. */
  started(executionId: string): void;
  /** Gives everything back. Call it once. */
  end(ending: ExecutionEnding): void;
}

/** Without an answer from behind the engine: of these the back end, or the workers in front of it, are the reason. */
const backEndFailures: ReadonlySet<ProblemCode> = new Set([
  'back-end-timeout',
  'back-end-unreachable',
  'execution-timed-out',
  'wait-budget-spent',
] as const);
/** These can also mean that the engine did not move: they count only while it is well. */
const engineMayBeWhy: ReadonlySet<ProblemCode> = new Set(['execution-timed-out', 'wait-budget-spent'] as const);

const mostRetryAfterSeconds = 10;
/** So long after a refusal others are likely, in milliseconds. */
const refusingMs = 1_000;
/** Of the executions handed out that nobody has claimed, the latest. */
const mostEarly = 2_000;

export class Admission {
  readonly #parts: AdmissionDependencies;
  /** By execution, until it ends. */
  readonly #places = new TransientMap<string, Permit>();
  /** Handed out before the answer to the start was here, or started by somebody else. */
  readonly #early = new Set<string>();
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: AdmissionDependencies) {
    this.#parts = parts;
  }

  /**
   * Lets a request through, at once or after a wait.
   * @returns null when the client left meanwhile
   * @throws Problem 503 with Retry-After: `engine-unavailable`, `back-end-unavailable` or `overloaded`. Nothing was started
   */
  async admit(request: AdmissionRequest): Promise<Admitted | null> {
    const { slots, metrics } = this.#parts;
    const { requestClass } = request;
    this.#refuseWhileOpen(request);
    const taking = slots.take(claimOf(request), request.gone);
    const taken = taking instanceof Promise ? await taking : taking;
    if ('refusal' in taken) {
      if (taken.refusal === 'gone') {
        metrics.count(requestClass, 'gone');
        return null;
      }
      throw this.#overloaded(requestClass, taken.refusal, taken.retryAfterMs);
    }
    const queued = taken.queuedMs > 0;
    try {
      // A breaker may have opened meanwhile.
      if (queued) this.#refuseWhileOpen(request);
    } catch (error) {
      slots.release(taken, false);
      throw error;
    }
    if (queued) metrics.waited(taken.queuedMs);
    metrics.count(requestClass, queued ? 'queued' : 'admitted');
    return this.#admitted(request.backEnd, taken);
  }

  /** Whether requests are being refused: while they are, others are looked at before anything is done for them. */
  get isRefusing(): boolean {
    return performance.now() - this.#refusedAt < refusingMs;
  }

  /**
   * Refuses a request that `admit` would refuse at this moment, and counts it. Takes nothing.
   * @throws Problem as `admit`
   */
  refuse(claim: AdmissionClaim): void {
    this.#refuseWhileOpen(claim);
    const refused = this.#parts.slots.refuses(claimOf(claim));
    if (refused !== undefined) throw this.#overloaded(claim.requestClass, refused.refusal, refused.retryAfterMs);
  }

  /** A worker has taken a task of an execution, here. */
  handedOut(executionId: string): void {
    const place = this.#places.get(executionId);
    if (place !== undefined) return this.#parts.slots.handedOut(place);
    this.#early.add(executionId);
    if (this.#early.size > mostEarly) this.#early.delete(this.#early.values().next().value as string);
  }

  /** Learns from a call that was made to the engine. */
  observe({ request: { method, path }, startedAt, ms, outcome }: EngineCall): void {
    if (method !== 'POST') return;
    const { limit, engine } = this.#parts;
    if (path === '/api/workflow') {
      const failed = typeof outcome === 'string' || outcome >= 500;
      engine.record(failed ? 'failure' : 'success', startedAt);
      if (!failed) limit.sample('start', ms);
      else if (outcome !== 'unreachable') limit.failed();
    } else if (outcome === 200 && path.startsWith('/api/tasks')) limit.sample('report', ms);
  }

  #admitted({ breaker }: BackEnd, place: Permit): Admitted {
    const { limit, slots, engine } = this.#parts;
    limit.noteUse(slots.taken('waiting'));
    const leaveEngine = engine.enter();
    const leaveBackEnd = breaker.enter();
    let startedId: string | undefined;
    let ended = false;
    return {
      started: (executionId) => {
        if (ended) return void this.#early.delete(executionId);
        startedId = executionId;
        this.#places.set(executionId, place);
        if (this.#early.delete(executionId)) slots.handedOut(place);
      },
      end: ({ problem, clientGone }) => {
        ended = true;
        if (startedId !== undefined) this.#places.delete(startedId);
        const outcome = clientGone ? undefined : this.#outcomeOf(problem);
        if (outcome !== undefined) breaker.record(outcome, place.takenAt);
        leaveEngine();
        leaveBackEnd();
        // What a client leaves behind goes on for about as long as others take: leaving early gains no place.
        const abandoned = clientGone && startedId !== undefined;
        const restMs = abandoned ? slots.usualMs(place) - (performance.now() - place.takenAt) : 0;
        const release = () => slots.release(place, !abandoned && startedId !== undefined);
        if (restMs > 0) setTimeout(release, restMs).unref();
        else release();
      },
    };
  }

  #outcomeOf(problem: ProblemCode | undefined): 'success' | 'failure' | undefined {
    if (problem === undefined) return 'success';
    return this.#blames(problem) ? 'failure' : undefined;
  }

  #blames(problem: ProblemCode): boolean {
    if (!backEndFailures.has(problem)) return false;
    return !engineMayBeWhy.has(problem) || this.#parts.engine.state === 'closed';
  }

  #refuseWhileOpen({ requestClass, backEnd: { breaker } }: AdmissionClaim): void {
    const { engine } = this.#parts;
    const byEngine = engine.refusedForMs;
    if (byEngine !== undefined)
      throw this.#refused(requestClass, 'engine-open', unavailable('engine-unavailable', byEngine));
    const byBackEnd = breaker.refusedForMs;
    if (byBackEnd !== undefined)
      throw this.#refused(requestClass, 'back-end-open', unavailable('back-end-unavailable', byBackEnd));
  }

  #overloaded(requestClass: RequestClass, refusal: Exclude<Rejection, 'gone'>, retryAfterMs: number): Problem {
    const headers = { 'retry-after': retryAfter(retryAfterMs) };
    return this.#refused(requestClass, refusal, new Problem('overloaded', { detail: details[refusal], headers }));
  }

  #refused(requestClass: RequestClass, outcome: AdmissionOutcome, problem: Problem): Problem {
    this.#parts.metrics.count(requestClass, outcome);
    this.#refusedAt = performance.now();
    return problem;
  }
}

function claimOf({ backEnd: lane, requestClass, client }: AdmissionClaim): PermitRequest {
  return { lane, requestClass, client };
}

function unavailable(code: ProblemCode, forMs: number): Problem {
  return new Problem(code, { headers: { 'retry-after': retryAfter(forMs) } });
}

const details: Record<Exclude<Rejection, 'gone'>, string> = {
  full: 'As many requests as may wait are waiting.',
  'too-long': 'The wait would be too long.',
  expired: 'The wait was too long.',
};

/** Whole seconds (RFC 9110 section 10.2.3). */
function retryAfter(ms: number): string {
  return String(Math.min(mostRetryAfterSeconds, Math.max(1, Math.ceil(ms / 1_000))));
}
