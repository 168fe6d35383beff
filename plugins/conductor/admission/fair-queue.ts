// The claims that wait for a place: whose turn it is, and who makes room when there is none for all.

import type { PermitRequest } from './bulkhead.ts';

/**
 * Why a claim got no place. `full`: the queue is; `too-long`: the wait would be; `expired`: it was, against
 * expectation; `gone`: the claimant left.
 */
export type Rejection = 'full' | 'too-long' | 'expired' | 'gone';

export interface Waiter {
  readonly claim: PermitRequest;
  /** @param refusal undefined: it has its place */
  settle(refusal: Rejection | undefined): void;
}

export class FairQueue {
  /** In the order of arrival. */
  readonly #waiters: Waiter[] = [];

  get length(): number {
    return this.#waiters.length;
  }

  join(waiter: Waiter): void {
    this.#waiters.push(waiter);
  }

  /** @returns false when it waits no longer */
  leave(waiter: Waiter): boolean {
    const index = this.#waiters.indexOf(waiter);
    if (index === -1) return false;
    this.#waiters.splice(index, 1);
    return true;
  }

  /**
   * The one whose turn it is, of those that may pass: its client has the fewest places; of several it came first.
   * @param placesOf how many a client has
   */
  next(mayPass: (claim: PermitRequest) => boolean, placesOf: (client: string) => number): Waiter | undefined {
    let next: Waiter | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const waiter of this.#waiters) {
      const places = placesOf(waiter.claim.client);
      if (places >= fewest || !mayPass(waiter.claim)) continue;
      next = waiter;
      if (places === 0) break;
      fewest = places;
    }
    return next;
  }

  /** The latest of those that `isMeant`. */
  latest(isMeant: (claim: PermitRequest) => boolean): Waiter | undefined {
    return this.#waiters.findLast(({ claim }) => isMeant(claim));
  }
}
