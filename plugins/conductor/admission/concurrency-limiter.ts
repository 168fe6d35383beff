// Places for executions: a limit on those that wait for a worker, one on all in flight, a share for each back end, a
// reserve for reads and for writes, and a short queue in which clients take turns.

import { Tally } from '#lib/gc/tally.ts';
import {
  type PermitRequest,
  createBulkhead,
  type Bulkhead,
  type RequestClass,
  type Stage,
  stages,
} from './bulkhead.ts';
import { type Rejection, type Waiter, FairQueue } from './fair-queue.ts';

/** A claim that was granted. */
export interface Permit extends PermitRequest {
  readonly takenAt: number;
  /** How long it waited for this, in milliseconds. */
  readonly queuedMs: number;
  /** False once its execution is with a worker. */
  waiting: boolean;
}

/** Read at each use: they may change while it works. */
export interface ConcurrencyLimiterOptions {
  /** Most places of each stage at the moment. */
  limits: Readonly<Record<Stage, () => number>>;
  /** Most claims that wait for a place. */
  readonly queueLength: number;
  /** Longest wait for a place in milliseconds. */
  readonly queueMs: number;
  /** Most that one back end may have of places and queue, in percent. */
  readonly laneSharePercent: number;
  /** What reads leave to writes of places and queue, and writes to reads, in percent. */
  readonly reservedPercent: number;
}

export interface Refused {
  readonly refusal: Rejection;
  /** When there may be a place. */
  readonly retryAfterMs: number;
}

/** Without having waited. */
export interface RefusedAtOnce extends Refused {
  readonly refusal: 'full' | 'too-long';
}

export class ConcurrencyLimiter {
  readonly #options: ConcurrencyLimiterOptions;
  readonly #classes = { read: createBulkhead(), write: createBulkhead() };
  readonly #all = createBulkhead();
  /** A claim that may not pass yet is overtaken by those that may. */
  readonly #line = new FairQueue();
  /** Places in flight, of each client. */
  readonly #clients = new Tally();
  /** The limits when claims were last let through. */
  #pumpedAt: readonly number[] = [];

  constructor(options: ConcurrencyLimiterOptions) {
    this.#options = options;
  }

  /** Places that are taken. */
  taken(stage: Stage, requestClass?: RequestClass): number {
    return (requestClass === undefined ? this.#all : this.#classes[requestClass])[stage].count;
  }

  /** Claims that wait. */
  get queued(): number {
    return this.#line.length;
  }

  /**
   * Takes a place, at once or after a wait in the queue. A wait that would be too long is refused at once.
   * @param signal aborts when the claimant leaves; asked for only when it has to wait
   */
  take(claim: PermitRequest, signal: () => AbortSignal): Permit | Refused | Promise<Permit | Refused> {
    if (this.#limitsMoved()) this.#pump();
    if (this.#mayPass(claim)) return this.#occupy(claim, 0);
    const refused = this.#mayNotWait(claim);
    if (refused !== undefined) return refused;
    this.#makeRoom(claim);
    return this.#wait(claim, signal());
  }

  /** Why a claim would be refused at this moment; undefined when it would get a place, or one in the queue. Takes none. */
  refuses(claim: PermitRequest): RefusedAtOnce | undefined {
    if (this.#limitsMoved()) this.#pump();
    return this.#mayPass(claim) ? undefined : this.#mayNotWait(claim);
  }

  /** Its execution is with a worker. Calling it again does nothing. */
  handedOut(place: Permit): void {
    if (!place.waiting) return;
    this.#free(place, 'waiting', performance.now() - place.takenAt);
    place.waiting = false;
    this.#pump();
  }

  /** How long an execution of this back end is usually in flight, in milliseconds; any, while none of it has ended. */
  usualMs({ lane }: PermitRequest): number {
    return lane.inFlight.held.ms || this.#all.inFlight.held.ms;
  }

  /** Gives a place back, once. @param typical false when the time it was held says nothing of others */
  release(place: Permit, typical: boolean): void {
    const heldMs = typical ? performance.now() - place.takenAt : undefined;
    if (place.waiting) this.#free(place, 'waiting', heldMs);
    place.waiting = false;
    this.#free(place, 'inFlight', heldMs);
    this.#clients.add(place.client, -1);
    this.#pump();
  }

  async #wait(claim: PermitRequest, signal: AbortSignal): Promise<Permit | Refused> {
    const queuedAt = performance.now();
    const { promise, resolve } = Promise.withResolvers<Rejection | undefined>();
    let place: Permit | undefined;
    const settle = (refusal: Rejection | undefined) => {
      if (refusal === undefined) place = this.#occupy(claim, performance.now() - queuedAt);
      this.#countQueued(claim, -1);
      resolve(refusal);
    };
    const waiter: Waiter = { claim, settle };
    const leave = (refusal: Rejection) => {
      if (this.#line.leave(waiter)) settle(refusal);
    };
    const gone = () => leave('gone');
    const timer = setTimeout(leave, this.#options.queueMs, 'expired');
    signal.addEventListener('abort', gone, { once: true });
    this.#line.join(waiter);
    this.#countQueued(claim, 1);
    if (signal.aborted) gone();
    const refusal = await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', gone);
    return place ?? { refusal: refusal ?? 'gone', retryAfterMs: this.#expectedWaitMs(claim) };
  }

  /** A place that is given back lets claims through by itself; a limit that has risen does not. */
  #limitsMoved(): boolean {
    return stages.some((stage, index) => this.#options.limits[stage]() !== this.#pumpedAt[index]);
  }

  /** Lets everyone through who may pass now. */
  #pump(): void {
    this.#pumpedAt = stages.map((stage) => this.#options.limits[stage]());
    while (this.#line.length > 0) {
      if (stages.some((stage) => this.#all[stage].count >= this.#options.limits[stage]())) return;
      const next = this.#line.next(
        (claim) => this.#mayPass(claim),
        (client) => this.#clients.of(client),
      );
      if (next === undefined) return;
      this.#line.leave(next);
      next.settle(undefined);
    }
  }

  #mayPass({ lane, requestClass }: PermitRequest): boolean {
    return stages.every((stage) => {
      const limit = this.#options.limits[stage]();
      return (
        this.#all[stage].count < limit &&
        lane[stage].count < this.#laneShare(limit) &&
        this.#classes[requestClass][stage].count < this.#classShare(limit)
      );
    });
  }

  /** Why a claim that may not pass would not be queued either. */
  #mayNotWait(claim: PermitRequest): RefusedAtOnce | undefined {
    const retryAfterMs = this.#expectedWaitMs(claim);
    if (retryAfterMs > this.#options.queueMs) return { refusal: 'too-long', retryAfterMs };
    for (const full of this.#fullLanes(claim)) {
      if (full.queued.greedierThan(claim.client) === undefined) return { refusal: 'full', retryAfterMs };
    }
    return undefined;
  }

  /** Lanes of a claim whose part of the queue is full, the narrowest first. */
  *#fullLanes({ lane, requestClass }: PermitRequest): Generator<Bulkhead> {
    const { queueLength } = this.#options;
    const ofClass = this.#classes[requestClass];
    if (lane.queued.count >= this.#laneShare(queueLength)) yield lane;
    if (ofClass.queued.count >= this.#classShare(queueLength)) yield ofClass;
    if (this.#all.queued.count >= queueLength) yield this.#all;
  }

  /**
   * In a full queue the latest of the client that has most there makes room for one that has fewer. Who leaves one lane
   * leaves those around it: what is full is looked at again each time.
   */
  #makeRoom(newcomer: PermitRequest): void {
    for (const full of this.#fullLanes(newcomer)) {
      const greedier = full.queued.greedierThan(newcomer.client);
      const latest = this.#line.latest((claim) => claim.client === greedier && this.#lanesOf(claim).includes(full));
      if (latest === undefined) return;
      this.#line.leave(latest);
      latest.settle('full');
    }
  }

  /**
   * By Little's law: so many are ahead, and one place is given back every (time held / places). A standstill comes on
   * top. The longest of what back end, class and all have to wait for.
   */
  #expectedWaitMs({ lane, requestClass, client }: PermitRequest): number {
    const now = performance.now();
    const waits = stages.flatMap((stage) => {
      const limit = this.#options.limits[stage]();
      const wait = (of: Bulkhead, places: number) => {
        const { count, held, movedAt } = of[stage];
        return count < places ? 0 : ((of.queued.aheadOf(client) + 1) * held.ms) / places + (now - movedAt);
      };
      return [
        wait(lane, this.#laneShare(limit)),
        wait(this.#classes[requestClass], this.#classShare(limit)),
        wait(this.#all, limit),
      ];
    });
    return Math.max(...waits);
  }

  #laneShare(whole: number): number {
    return Math.ceil((whole * this.#options.laneSharePercent) / 100);
  }

  #classShare(whole: number): number {
    return Math.max(1, whole - Math.ceil((whole * this.#options.reservedPercent) / 100));
  }

  #occupy(claim: PermitRequest, queuedMs: number): Permit {
    const takenAt = performance.now();
    for (const each of this.#lanesOf(claim)) {
      for (const stage of stages) {
        const taken = each[stage];
        // A standstill begins with the first that could have ended.
        if (taken.count === 0) taken.movedAt = takenAt;
        taken.count += 1;
      }
    }
    this.#clients.add(claim.client, 1);
    return { ...claim, takenAt, queuedMs, waiting: true };
  }

  #free(place: Permit, stage: Stage, heldMs: number | undefined): void {
    const now = performance.now();
    for (const each of this.#lanesOf(place)) {
      const taken = each[stage];
      taken.count -= 1;
      taken.movedAt = now;
      if (heldMs !== undefined) taken.held.add(heldMs, now);
    }
  }

  #countQueued(claim: PermitRequest, by: 1 | -1): void {
    for (const each of this.#lanesOf(claim)) each.queued.add(claim.client, by);
  }

  #lanesOf({ lane, requestClass }: PermitRequest): readonly Bulkhead[] {
    return [lane, this.#classes[requestClass], this.#all];
  }
}
