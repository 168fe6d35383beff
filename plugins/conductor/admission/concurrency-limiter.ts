// A concurrency limiter with a fair queue. It has one limit for executions that wait for a worker, one for all
// in-flight executions, and a maximum share of both for each back end.

import { KeyedCounter } from '#lib/gc/keyed-counter.ts';
import {
  type PermitRequest,
  createBulkhead,
  type Bulkhead,
  flowOf,
  type RequestClass,
  type PermitStage,
  permitStages,
} from './bulkhead.ts';
import { type Rejection, type Waiter, FairQueue } from './fair-queue.ts';

/** A permit: the right to have one execution in flight. Release it with {@link ConcurrencyLimiter.release}. */
export interface Permit extends PermitRequest {
  /** performance.now() of the grant. */
  readonly grantedAt: number;
  /** Time in the queue before the grant, in milliseconds. */
  readonly queuedMs: number;
  /** True until a worker has taken the execution's first task. */
  waiting: boolean;
}

/** Settings. The limiter reads them at each use, so a configuration reload takes effect at once. */
export interface ConcurrencyLimiterOptions {
  /** Current maximum of permits for each stage. */
  limits: Readonly<Record<PermitStage, () => number>>;
  /** Maximum length of the queue. */
  readonly queueLength: number;
  /** Maximum time in the queue, in milliseconds. */
  readonly queueMs: number;
  /** Maximum share of the permits and of the queue for one back end, in percent. */
  readonly bulkheadSharePercent: number;
}

/**
 * A flow may have at most this many queued requests for each free slot of the queue. One flow alone can fill four
 * fifths of the queue, and two flows four ninths each, so there is always room for another flow.
 */
const queuedForEachFree = 4;

/** A request that was granted no permit. */
export interface Rejected {
  readonly rejection: Rejection;
  /** Estimated time until a permit is free, in milliseconds. */
  readonly retryAfterMs: number;
}

/** A rejection before the request entered the queue. */
export interface RejectedImmediately extends Rejected {
  readonly rejection: 'full' | 'too-long';
}

/**
 * Grants permits to requests, at once or after a wait. Of the queued requests, the one whose flow has the fewest
 * permits is served first.
 */
export class ConcurrencyLimiter {
  readonly #options: ConcurrencyLimiterOptions;
  /** Counts by request class. The classes have no limits of their own. */
  readonly #classes = { read: createBulkhead(), write: createBulkhead() };
  readonly #all = createBulkhead();
  /** Requests whose bulkhead has capacity overtake those whose bulkhead is full. */
  readonly #queue = new FairQueue();
  /** Permits in use, by flow. */
  readonly #permitsByFlow = new KeyedCounter();
  /** Limits at the time of the last grants from the queue. */
  #limitsAtLastGrant: readonly number[] = [];

  constructor(options: ConcurrencyLimiterOptions) {
    this.#options = options;
  }

  /** Number of permits in use in a stage, of one request class or of all. */
  inUse(stage: PermitStage, requestClass?: RequestClass): number {
    return (requestClass === undefined ? this.#all : this.#classes[requestClass])[stage].count;
  }

  /** Number of requests in the queue. */
  get queued(): number {
    return this.#queue.length;
  }

  /**
   * Acquires a permit, at once or after a wait in the queue. A request whose expected wait exceeds its maximum wait is
   * rejected at once.
   * @param signal aborts when the client disconnects
   * @param withinMs longest wait, in milliseconds, when it is shorter than `queueMs`
   */
  acquire(
    request: PermitRequest,
    signal: AbortSignal,
    withinMs = Infinity,
  ): Permit | Rejected | Promise<Permit | Rejected> {
    if (this.#haveLimitsChanged()) this.#grantQueued();
    if (this.#hasCapacity(request)) return this.#grant(request, 0);
    const longestMs = Math.min(withinMs, this.#options.queueMs);
    return this.#queueRejection(request, longestMs) ?? this.#wait(request, signal, longestMs);
  }

  /**
   * Returns the rejection that `acquire` would return now; undefined when `acquire` would grant a permit or queue the
   * request. This method neither grants a permit to the request nor queues it.
   */
  rejectionOf(request: PermitRequest): RejectedImmediately | undefined {
    if (this.#haveLimitsChanged()) this.#grantQueued();
    return this.#hasCapacity(request) ? undefined : this.#queueRejection(request, this.#options.queueMs);
  }

  /** Marks the permit's execution as taken by a worker. Further calls do nothing. */
  handedOut(permit: Permit): void {
    this.#endWaiting(permit, performance.now() - permit.grantedAt);
  }

  /** Marks the permit's execution as one whose task no worker will get. */
  withdraw(permit: Permit): void {
    this.#endWaiting(permit);
  }

  #endWaiting(permit: Permit, heldMs?: number): void {
    if (!permit.waiting) return;
    this.#free(permit, 'waiting', heldMs);
    permit.waiting = false;
    this.#grantQueued();
  }

  /**
   * Average time that executions of this back end are in flight, in milliseconds; the average of all back ends until
   * an execution of this back end has ended.
   */
  averageHeldMs({ bulkhead }: PermitRequest): number {
    return bulkhead.inFlight.heldTime.ms || this.#all.inFlight.heldTime.ms;
  }

  /**
   * Releases a permit. Call it once.
   * @param typical false when the time for which the permit was held must not count in the averages
   */
  release(permit: Permit, typical: boolean): void {
    const heldMs = typical ? performance.now() - permit.grantedAt : undefined;
    if (permit.waiting) this.#free(permit, 'waiting', heldMs);
    permit.waiting = false;
    this.#free(permit, 'inFlight', heldMs);
    this.#permitsByFlow.add(flowOf(permit), -1);
    this.#grantQueued();
  }

  async #wait(request: PermitRequest, signal: AbortSignal, withinMs: number): Promise<Permit | Rejected> {
    const queuedAt = performance.now();
    const { promise, resolve } = Promise.withResolvers<Rejection | undefined>();
    let permit: Permit | undefined;
    const finish = (rejection: Rejection | undefined) => {
      if (rejection === undefined) permit = this.#grant(request, performance.now() - queuedAt);
      this.#countQueued(request, -1);
      resolve(rejection);
    };
    const waiter: Waiter = { request, resolve: finish };
    const leave = (rejection: Rejection) => {
      if (this.#queue.remove(waiter)) finish(rejection);
    };
    const gone = () => leave('gone');
    const timer = setTimeout(leave, withinMs, 'expired');
    signal.addEventListener('abort', gone, { once: true });
    this.#queue.add(waiter);
    this.#countQueued(request, 1);
    if (signal.aborted) gone();
    const rejection = await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', gone);
    return permit ?? { rejection: rejection ?? 'gone', retryAfterMs: this.#expectedWaitMs(request) };
  }

  /**
   * True when a limit has changed since the last grants. Releasing a permit triggers grants; raising a limit does not.
   */
  #haveLimitsChanged(): boolean {
    return this.#currentLimits().some((limit, index) => limit !== this.#limitsAtLastGrant[index]);
  }

  /** Limits of both stages, and the share of one back end. */
  #currentLimits(): number[] {
    const { limits, bulkheadSharePercent } = this.#options;
    return [...permitStages.map((stage) => limits[stage]()), bulkheadSharePercent];
  }

  /** Grants permits to queued requests while capacity lasts. */
  #grantQueued(): void {
    this.#limitsAtLastGrant = this.#currentLimits();
    while (this.#queue.length > 0) {
      if (permitStages.some((stage) => this.#all[stage].count >= this.#options.limits[stage]())) return;
      const next = this.#queue.next(
        (request) => this.#hasCapacity(request),
        (flow) => this.#permitsByFlow.of(flow),
      );
      if (next === undefined) return;
      this.#queue.remove(next);
      next.resolve(undefined);
    }
  }

  #hasCapacity({ bulkhead }: PermitRequest): boolean {
    return permitStages.every((stage) => {
      const limit = this.#options.limits[stage]();
      return this.#all[stage].count < limit && bulkhead[stage].count < this.#bulkheadShare(limit);
    });
  }

  /**
   * Returns the rejection of a request that gets no permit now and must not be queued either; undefined when it may
   * wait. The limit of a flow depends on the number of free slots (dynamic threshold, Choudhury and Hahne 1998), so no
   * flow fills the queue.
   */
  #queueRejection(request: PermitRequest, longestMs: number): RejectedImmediately | undefined {
    const { queueLength } = this.#options;
    const retryAfterMs = this.#expectedWaitMs(request);
    if (retryAfterMs > longestMs) return { rejection: 'too-long', retryAfterMs };
    const flow = flowOf(request);
    const isFull = ({ queued }: Bulkhead, length: number) =>
      queued.of(flow) >= queuedForEachFree * (length - queued.total);
    return isFull(request.bulkhead, this.#bulkheadShare(queueLength)) || isFull(this.#all, queueLength)
      ? { rejection: 'full', retryAfterMs }
      : undefined;
  }

  /**
   * Returns the expected wait in milliseconds, by Little's law: the requests ahead times the average hold time, divided
   * by the permits. The time since a permit was last released is added, so that a standstill lengthens the estimate.
   * The result is the longest of the waits for the back end and for all back ends together.
   */
  #expectedWaitMs(request: PermitRequest): number {
    const now = performance.now();
    const flow = flowOf(request);
    const waits = permitStages.flatMap((stage) => {
      const limit = this.#options.limits[stage]();
      const wait = (of: Bulkhead, permits: number) => {
        const { count, heldTime, changedAt } = of[stage];
        return count < permits ? 0 : ((aheadOf(flow, of.queued) + 1) * heldTime.ms) / permits + (now - changedAt);
      };
      return [wait(request.bulkhead, this.#bulkheadShare(limit)), wait(this.#all, limit)];
    });
    return Math.max(...waits);
  }

  #bulkheadShare(whole: number): number {
    return Math.ceil((whole * this.#options.bulkheadSharePercent) / 100);
  }

  #grant(request: PermitRequest, queuedMs: number): Permit {
    const grantedAt = performance.now();
    for (const each of this.#bulkheadsOf(request)) {
      for (const stage of permitStages) {
        const usage = each[stage];
        // An idle bulkhead is not at a standstill: its clock starts with the first permit.
        if (usage.count === 0) usage.changedAt = grantedAt;
        usage.count += 1;
      }
    }
    this.#permitsByFlow.add(flowOf(request), 1);
    return { ...request, grantedAt, queuedMs, waiting: true };
  }

  #free(permit: Permit, stage: PermitStage, heldMs: number | undefined): void {
    const now = performance.now();
    for (const each of this.#bulkheadsOf(permit)) {
      const usage = each[stage];
      usage.count -= 1;
      usage.changedAt = now;
      if (heldMs !== undefined) usage.heldTime.add(heldMs, now);
    }
  }

  #countQueued(request: PermitRequest, by: 1 | -1): void {
    for (const each of this.#bulkheadsOf(request)) each.queued.add(flowOf(request), by);
  }

  #bulkheadsOf({ bulkhead, requestClass }: PermitRequest): readonly Bulkhead[] {
    return [bulkhead, this.#classes[requestClass], this.#all];
  }
}

/** Returns the number of requests that are served before the next request of `flow`, when flows are served in turn. */
function aheadOf(flow: string, queued: KeyedCounter): number {
  const own = queued.of(flow);
  let ahead = 0;
  for (const [, count] of queued) ahead += Math.min(count, own + 1);
  return ahead;
}
