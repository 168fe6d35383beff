// A concurrency limiter with a fair queue: one limit for executions that wait for a worker, one for all in flight, a
// share for each back end, and a reserve for reads and for writes.

import { KeyedCounter } from '#lib/gc/keyed-counter.ts';
import {
  type PermitRequest,
  createBulkhead,
  type Bulkhead,
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
  /** Share of the permits and of the queue that reads leave to writes, and writes to reads, in percent. */
  readonly reservedPercent: number;
}

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

/** Grants permits to requests, at once or after a wait. Of the queued requests, that of the client with the fewest permits is
 * served first. */
export class ConcurrencyLimiter {
  readonly #options: ConcurrencyLimiterOptions;
  readonly #classes = { read: createBulkhead(), write: createBulkhead() };
  readonly #all = createBulkhead();
  /** Requests whose bulkhead has capacity overtake those whose bulkhead is full. */
  readonly #queue = new FairQueue();
  /** Permits in use, by client. */
  readonly #permitsByClient = new KeyedCounter();
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
   * Acquires a permit, at once or after a wait in the queue. A request whose expected wait exceeds `queueMs` is
   * rejected at once.
   * @param signal aborts when the client disconnects
   */
  acquire(request: PermitRequest, signal: AbortSignal): Permit | Rejected | Promise<Permit | Rejected> {
    if (this.#haveLimitsChanged()) this.#grantQueued();
    if (this.#hasCapacity(request)) return this.#grant(request, 0);
    const rejected = this.#queueRejection(request);
    if (rejected !== undefined) return rejected;
    this.#evictForFairness(request);
    return this.#wait(request, signal);
  }

  /**
   * Rejection that `acquire` would return now; undefined when it would grant a permit or queue the request. Changes
   * nothing.
   */
  rejectionOf(request: PermitRequest): RejectedImmediately | undefined {
    if (this.#haveLimitsChanged()) this.#grantQueued();
    return this.#hasCapacity(request) ? undefined : this.#queueRejection(request);
  }

  /** Marks the permit's execution as taken by a worker. Further calls do nothing. */
  handedOut(permit: Permit): void {
    if (!permit.waiting) return;
    this.#free(permit, 'waiting', performance.now() - permit.grantedAt);
    permit.waiting = false;
    this.#grantQueued();
  }

  /**
   * Average time that executions of this back end are in flight, in milliseconds; the average of all back ends while
   * none of its executions has ended.
   */
  averageHeldMs({ bulkhead }: PermitRequest): number {
    return bulkhead.inFlight.heldTime.ms || this.#all.inFlight.heldTime.ms;
  }

  /**
   * Releases a permit. Call it once.
   * @param typical false when the time it was held must not count in the averages
   */
  release(permit: Permit, typical: boolean): void {
    const heldMs = typical ? performance.now() - permit.grantedAt : undefined;
    if (permit.waiting) this.#free(permit, 'waiting', heldMs);
    permit.waiting = false;
    this.#free(permit, 'inFlight', heldMs);
    this.#permitsByClient.add(permit.client, -1);
    this.#grantQueued();
  }

  async #wait(request: PermitRequest, signal: AbortSignal): Promise<Permit | Rejected> {
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
    const timer = setTimeout(leave, this.#options.queueMs, 'expired');
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
   * True when a limit has changed since the last grants. A released permit triggers grants by itself; a raised limit
   * does not.
   */
  #haveLimitsChanged(): boolean {
    return permitStages.some((stage, index) => this.#options.limits[stage]() !== this.#limitsAtLastGrant[index]);
  }

  /** Grants permits to queued requests while capacity lasts. */
  #grantQueued(): void {
    this.#limitsAtLastGrant = permitStages.map((stage) => this.#options.limits[stage]());
    while (this.#queue.length > 0) {
      if (permitStages.some((stage) => this.#all[stage].count >= this.#options.limits[stage]())) return;
      const next = this.#queue.next(
        (request) => this.#hasCapacity(request),
        (client) => this.#permitsByClient.of(client),
      );
      if (next === undefined) return;
      this.#queue.remove(next);
      next.resolve(undefined);
    }
  }

  #hasCapacity({ bulkhead, requestClass }: PermitRequest): boolean {
    return permitStages.every((stage) => {
      const limit = this.#options.limits[stage]();
      return (
        this.#all[stage].count < limit &&
        bulkhead[stage].count < this.#bulkheadShare(limit) &&
        this.#classes[requestClass][stage].count < this.#classShare(limit)
      );
    });
  }

  /** Rejection of a request without capacity that may not be queued either; undefined when it may wait. */
  #queueRejection(request: PermitRequest): RejectedImmediately | undefined {
    const retryAfterMs = this.#expectedWaitMs(request);
    if (retryAfterMs > this.#options.queueMs) return { rejection: 'too-long', retryAfterMs };
    for (const full of this.#fullBulkheads(request)) {
      if (full.queued.clientQueuingMoreThan(request.client) === undefined) return { rejection: 'full', retryAfterMs };
    }
    return undefined;
  }

  /** Bulkheads of a request whose part of the queue is full, the narrowest first. */
  *#fullBulkheads({ bulkhead, requestClass }: PermitRequest): Generator<Bulkhead> {
    const { queueLength } = this.#options;
    const ofClass = this.#classes[requestClass];
    if (bulkhead.queued.count >= this.#bulkheadShare(queueLength)) yield bulkhead;
    if (ofClass.queued.count >= this.#classShare(queueLength)) yield ofClass;
    if (this.#all.queued.count >= queueLength) yield this.#all;
  }

  /**
   * Evicts queued requests so that a client with fewer queued requests can enter a full queue. The newest request of
   * the client that has most is evicted. An eviction shortens every enclosing bulkhead too, so fullness is evaluated
   * again each time.
   */
  #evictForFairness(newcomer: PermitRequest): void {
    for (const full of this.#fullBulkheads(newcomer)) {
      const greedier = full.queued.clientQueuingMoreThan(newcomer.client);
      const latest = this.#queue.newest(
        (request) => request.client === greedier && this.#bulkheadsOf(request).includes(full),
      );
      if (latest === undefined) return;
      this.#queue.remove(latest);
      latest.resolve('full');
    }
  }

  /**
   * Expected wait in milliseconds, by Little's law: the requests ahead times the average hold time, divided by the
   * permits. The time since the last change is added, so that a standstill lengthens the estimate. Returns the longest
   * of the waits for back end, class and all.
   */
  #expectedWaitMs({ bulkhead, requestClass, client }: PermitRequest): number {
    const now = performance.now();
    const waits = permitStages.flatMap((stage) => {
      const limit = this.#options.limits[stage]();
      const wait = (of: Bulkhead, permits: number) => {
        const { count, heldTime, changedAt } = of[stage];
        return count < permits ? 0 : ((of.queued.aheadOf(client) + 1) * heldTime.ms) / permits + (now - changedAt);
      };
      return [
        wait(bulkhead, this.#bulkheadShare(limit)),
        wait(this.#classes[requestClass], this.#classShare(limit)),
        wait(this.#all, limit),
      ];
    });
    return Math.max(...waits);
  }

  #bulkheadShare(whole: number): number {
    return Math.ceil((whole * this.#options.bulkheadSharePercent) / 100);
  }

  #classShare(whole: number): number {
    return Math.max(1, whole - Math.ceil((whole * this.#options.reservedPercent) / 100));
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
    this.#permitsByClient.add(request.client, 1);
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
    for (const each of this.#bulkheadsOf(request)) each.queued.add(request.client, by);
  }

  #bulkheadsOf({ bulkhead, requestClass }: PermitRequest): readonly Bulkhead[] {
    return [bulkhead, this.#classes[requestClass], this.#all];
  }
}
