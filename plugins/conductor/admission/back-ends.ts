// Every back end that requests name, with its share of the slots and its circuit breaker.

import { CircuitBreaker, type BreakerState, type BreakerThresholds } from './circuit-breaker.ts';
import { createBulkhead, type Bulkhead } from './bulkhead.ts';

export interface BackEnd extends Bulkhead {
  /** Route, and what tells its back ends apart: `movies`, `adaptor 002`. */
  readonly name: string;
  readonly breaker: CircuitBreaker;
}

/** Clients can name colleges that do not exist: beyond so many, those that nothing is known of are forgotten. */
const mostRemembered = 1_000;

export class BackEnds {
  readonly #thresholds: () => BreakerThresholds;
  readonly #onChange: (name: string, state: BreakerState) => void;
  readonly #known = new Map<string, BackEnd>();

  constructor(thresholds: () => BreakerThresholds, onChange: (name: string, state: BreakerState) => void) {
    this.#thresholds = thresholds;
    this.#onChange = onChange;
  }

  get(name: string): BackEnd {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    if (this.#known.size >= mostRemembered) this.#forgetIdle();
    const onChange = (state: BreakerState) => this.#onChange(name, state);
    const breaker = new CircuitBreaker({ thresholds: this.#thresholds, onChange });
    const made = { ...createBulkhead(), name, breaker };
    this.#known.set(name, made);
    return made;
  }

  /** Those that have answered, or failed to: a name that a client invented is not among them. */
  get heardOf(): BackEnd[] {
    return [...this.#known.values()].filter(({ breaker }) => breaker.used);
  }

  #forgetIdle(): void {
    for (const [name, { inFlight, queued, breaker }] of this.#known) {
      if (inFlight.count === 0 && queued.count === 0 && breaker.blank) this.#known.delete(name);
    }
  }
}
