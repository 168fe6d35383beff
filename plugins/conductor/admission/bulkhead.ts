// What one back end, one class of requests or all together take: places and claims that wait.

import { Tally } from '#lib/gc/tally.ts';
import { HeldTime } from './held-time.ts';

export type RequestClass = 'read' | 'write';

/** `waiting`: started, and not yet with a worker. `inFlight`: not yet ended; it takes in those that wait. */
export type Stage = 'waiting' | 'inFlight';

export const stages: readonly Stage[] = ['waiting', 'inFlight'];

/** The places of one stage that are taken. */
export interface Taken {
  count: number;
  /** How long a place is held. */
  readonly held: HeldTime;
  /** When one was last given back, or the first one taken (performance.now()). */
  movedAt: number;
}

/** What one back end takes. */
export interface Bulkhead {
  readonly queued: QueuedClaims;
  readonly waiting: Taken;
  readonly inFlight: Taken;
}

export interface PermitRequest {
  readonly lane: Bulkhead;
  readonly requestClass: RequestClass;
  /** Whose it is: nobody gets a second place while somebody waits for a first. */
  readonly client: string;
}

/** A lane nobody has used yet. */
export function createBulkhead(): Bulkhead {
  const taken = () => ({ count: 0, held: new HeldTime(), movedAt: Number.NEGATIVE_INFINITY });
  return { queued: new QueuedClaims(), waiting: taken(), inFlight: taken() };
}

/** How many claims wait, of each client. */
export class QueuedClaims {
  readonly #byClient = new Tally();

  get count(): number {
    return this.#byClient.total;
  }

  of(client: string): number {
    return this.#byClient.of(client);
  }

  add(client: string, change: 1 | -1): void {
    this.#byClient.add(client, change);
  }

  /** Claims that get their place before the next one of `client`, when clients take turns. */
  aheadOf(client: string): number {
    const own = this.of(client);
    let ahead = 0;
    for (const [, queued] of this.#byClient) ahead += Math.min(queued, own + 1);
    return ahead;
  }

  /** The client that has most waiting, when it has so many more than `client` that one of them would still be more. */
  greedierThan(client: string): string | undefined {
    let most = this.of(client) + 1;
    let greediest: string | undefined;
    for (const [each, queued] of this.#byClient) {
      if (queued > most) [greediest, most] = [each, queued];
    }
    return greediest;
  }
}
