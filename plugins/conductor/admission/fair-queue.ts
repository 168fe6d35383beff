// A fair queue of requests that wait for a permit. It serves the flow with the fewest permits first, beginning with the
// oldest request of that flow.

import { flowOf, type PermitRequest } from './bulkhead.ts';

/**
 * Why a request was granted no permit. `full`: the queue is full. `too-long`: the expected wait exceeds the maximum.
 * `expired`: the actual wait exceeded the maximum. `gone`: the client disconnected.
 */
export type Rejection = 'full' | 'too-long' | 'expired' | 'gone';

/** A request in the queue. */
export interface Waiter {
  readonly request: PermitRequest;
  /**
   * Ends the wait.
   * @param rejection Reason for the rejection; undefined when the permit was granted.
   */
  resolve(rejection: Rejection | undefined): void;
}

/** Queued requests in the order of arrival. */
export class FairQueue {
  readonly #waiters: Waiter[] = [];

  /** Number of queued requests. */
  get length(): number {
    return this.#waiters.length;
  }

  /** Appends a request. */
  add(waiter: Waiter): void {
    this.#waiters.push(waiter);
  }

  /**
   * Removes a request.
   * @returns false when it is not in the queue
   */
  remove(waiter: Waiter): boolean {
    const index = this.#waiters.indexOf(waiter);
    if (index === -1) return false;
    this.#waiters.splice(index, 1);
    return true;
  }

  /**
   * Returns the next request to serve. Of the requests for which a permit is free, this is the one whose flow holds the
   * fewest permits. Of several such requests, it is the earliest.
   * @param hasCapacity whether a permit is free for a request
   * @param permitsOf number of permits that a flow holds
   */
  next(hasCapacity: (request: PermitRequest) => boolean, permitsOf: (flow: string) => number): Waiter | undefined {
    let next: Waiter | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const waiter of this.#waiters) {
      const permits = permitsOf(flowOf(waiter.request));
      if (permits >= fewest || !hasCapacity(waiter.request)) continue;
      next = waiter;
      if (permits === 0) break;
      fewest = permits;
    }
    return next;
  }
}
