// Registry of the back ends that requests name, each with its bulkhead and its circuit breaker.

import { CircuitBreaker, type BreakerState, type BreakerThresholds } from './circuit-breaker.ts';
import { createBulkhead, type Bulkhead } from './bulkhead.ts';

/** One back end: its bulkhead and its circuit breaker. */
export interface BackEnd extends Bulkhead {
  /**
   * Name of the route, followed by the value of the path parameter that selects the back end: `movies`, `adaptor 002`.
   */
  readonly name: string;
  readonly breaker: CircuitBreaker;
}

/**
 * Above this number, idle back ends without recent outcomes are removed, because clients can name colleges that do not
 * exist.
 */
const maxBackEnds = 1_000;

/** Creates back ends on first use and keeps them. */
export class BackEnds {
  readonly #thresholds: () => BreakerThresholds;
  readonly #onChange: (name: string, state: BreakerState) => void;
  readonly #known = new Map<string, BackEnd>();

  constructor(thresholds: () => BreakerThresholds, onChange: (name: string, state: BreakerState) => void) {
    this.#thresholds = thresholds;
    this.#onChange = onChange;
  }

  /** Returns the back end with a name; creates it on first use. */
  get(name: string): BackEnd {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    if (this.#known.size >= maxBackEnds) this.#forgetIdle();
    const onChange = (state: BreakerState) => this.#onChange(name, state);
    const breaker = new CircuitBreaker({ thresholds: this.#thresholds, onChange });
    const created = { ...createBulkhead(), name, breaker };
    this.#known.set(name, created);
    return created;
  }

  /**
   * Back ends with at least one outcome, success or failure, whose breaker is not stale. Back ends whose names were
   * invented by clients have no outcome, unless `adaptor.url` serves every MIS code. The breaker of a back end that a
   * reload removed becomes stale.
   */
  get observed(): BackEnd[] {
    return [...this.#known.values()].filter(({ breaker }) => breaker.hasOutcomes && !breaker.isStale);
  }

  #forgetIdle(): void {
    for (const [name, { inFlight, queued, breaker }] of this.#known) {
      const isForgettable = breaker.isPristine || breaker.isStale;
      if (inFlight.count === 0 && queued.total === 0 && isForgettable) this.#known.delete(name);
    }
  }
}
