// Usage of one bulkhead (one back end, one class, or all requests): permits in use and queued requests.

import { KeyedCounter } from '#lib/gc/keyed-counter.ts';
import { HeldTime } from './held-time.ts';

/** `read`: safe methods (RFC 9110 section 9.2.1). `write`: every other method. */
export type RequestClass = 'read' | 'write';

/**
 * Stage of an execution. `waiting`: the execution was started, but no worker has its task yet. `inFlight`: the
 * execution has not ended yet, which includes `waiting`.
 */
export type PermitStage = 'waiting' | 'inFlight';

/** Both stages. */
export const permitStages: readonly PermitStage[] = ['waiting', 'inFlight'];

/** Permits in use in one bulkhead, for one stage. */
export interface PermitUsage {
  count: number;
  /** Average time that a permit is held. */
  readonly heldTime: HeldTime;
  /** performance.now() of the last release, or of the first grant after an idle period. */
  changedAt: number;
}

/** The counts of one bulkhead: the permits and queued requests of one back end, of one class, or of all requests. */
export interface Bulkhead {
  /** Queued requests, by flow. */
  readonly queued: KeyedCounter;
  readonly waiting: PermitUsage;
  readonly inFlight: PermitUsage;
}

/** The bulkhead, class and client for which a permit is requested. */
export interface PermitRequest {
  readonly bulkhead: Bulkhead;
  readonly requestClass: RequestClass;
  /** Client that requests the permit. */
  readonly client: string;
}

/**
 * Returns the flow of a request: its client and its class. The flow with the fewest permits is served first, so that no
 * client can starve others, and the writes of a client cannot starve its own reads.
 */
export function flowOf({ client, requestClass }: PermitRequest): string {
  return `${requestClass} ${client}`;
}

/** Returns an unused bulkhead. */
export function createBulkhead(): Bulkhead {
  const createUsage = () => ({ count: 0, heldTime: new HeldTime(), changedAt: Number.NEGATIVE_INFINITY });
  return { queued: new KeyedCounter(), waiting: createUsage(), inFlight: createUsage() };
}
