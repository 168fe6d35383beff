// Usage of one bulkhead (one back end, one class of requests, or all together): permits in use and queued requests.

import { KeyedCounter } from '#lib/gc/keyed-counter.ts';
import { HeldTime } from './held-time.ts';

/** `read`: safe methods (RFC 9110 section 9.2.1). `write`: every other method. */
export type RequestClass = 'read' | 'write';

/**
 * Stage of an execution. `waiting`: started, no worker has its task yet. `inFlight`: not ended yet, which includes
 * `waiting`.
 */
export type PermitStage = 'waiting' | 'inFlight';

/** Both stages. */
export const permitStages: readonly PermitStage[] = ['waiting', 'inFlight'];

/** Permits of one bulkhead that are in use, for one stage. */
export interface PermitUsage {
  count: number;
  /** Average time that a permit is held. */
  readonly heldTime: HeldTime;
  /** performance.now() of the last release, or of the first grant after an idle period. */
  changedAt: number;
}

/** A bulkhead: usage of one back end, of one class, or of all. */
export interface Bulkhead {
  readonly queued: QueuedRequests;
  readonly waiting: PermitUsage;
  readonly inFlight: PermitUsage;
}

/** The bulkhead, class and client that a permit is requested for. */
export interface PermitRequest {
  readonly bulkhead: Bulkhead;
  readonly requestClass: RequestClass;
  /**
   * Client that requests the permit. The client with the fewest permits is served first, so that none can starve the others.
   */
  readonly client: string;
}

/** Returns an unused bulkhead. */
export function createBulkhead(): Bulkhead {
  const createUsage = () => ({ count: 0, heldTime: new HeldTime(), changedAt: Number.NEGATIVE_INFINITY });
  return { queued: new QueuedRequests(), waiting: createUsage(), inFlight: createUsage() };
}

/** Counts queued requests by client. */
export class QueuedRequests {
  readonly #byClient = new KeyedCounter();

  /** Number of queued requests of all clients. */
  get count(): number {
    return this.#byClient.total;
  }

  /** Number of queued requests of one client. */
  of(client: string): number {
    return this.#byClient.of(client);
  }

  /** Adds or removes one request of a client. */
  add(client: string, change: 1 | -1): void {
    this.#byClient.add(client, change);
  }

  /** Number of requests that are served before the next request of `client`, when clients are served in turn. */
  aheadOf(client: string): number {
    const own = this.of(client);
    let ahead = 0;
    for (const [, queued] of this.#byClient) ahead += Math.min(queued, own + 1);
    return ahead;
  }

  /** Returns the client with the most queued requests, if it has at least two more than `client`; else undefined. */
  clientQueuingMoreThan(client: string): string | undefined {
    let most = this.of(client) + 1;
    let greediest: string | undefined;
    for (const [each, queued] of this.#byClient) {
      if (queued > most) [greediest, most] = [each, queued];
    }
    return greediest;
  }
}
