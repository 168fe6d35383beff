// A circuit breaker, modelled on Hystrix: closed, open after too many failures in a window, or half-open for a probe.

import { type OutcomeCounts, OutcomeWindow } from '../execution/outcome-window.ts';

/** State of a circuit breaker. */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** When a circuit breaker opens, and for how long. */
export interface BreakerThresholds {
  /** Outcomes older than this many milliseconds do not count. */
  windowMs: number;
  /** Minimum number of outcomes in the window before the breaker may open. */
  minCalls: number;
  /** Opens when at least this share of the outcomes in the window are failures, in percent. */
  failurePercent: number;
  /** How long the breaker stays open before a probe is let through, in milliseconds. */
  openMs: number;
}

/** Settings of a circuit breaker. */
export interface BreakerOptions {
  /** Called at each use, so a configuration reload takes effect at once. */
  thresholds: () => BreakerThresholds;
  /** When false, the breaker stays open until {@link CircuitBreaker.halfOpen} is called. Default true. */
  halfOpensAutomatically?: boolean;
  /** Monotonic clock in milliseconds. Default performance.now(). */
  now?: () => number;
  /** Called after each change of state. */
  onChange?: (state: BreakerState) => void;
}

/** A breaker that has been half-open without an outcome for this long (milliseconds) is stale. */
const staleMs = 3_600_000;
/** Retry time for other calls while a probe is in flight, in milliseconds. */
const probeRetryMs = 1_000;

/** A circuit breaker that admits a single probe while it is half-open. */
export class CircuitBreaker {
  readonly #options: BreakerOptions;
  readonly #now: () => number;
  #state: BreakerState = 'closed';
  #changedAt = Number.NEGATIVE_INFINITY;
  #openUntil = 0;
  #probing = false;
  /** True after the first outcome. */
  hasOutcomes = false;
  readonly #window = new OutcomeWindow();

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Current state. */
  get state(): BreakerState {
    this.#halfOpenWhenDue();
    return this.#state;
  }

  /** True when the breaker is closed and has no recent outcome: a new breaker would behave the same. */
  get isPristine(): boolean {
    return this.state === 'closed' && this.#counts().requests === 0;
  }

  /** True when no probe has had an outcome for an hour: the dependency may no longer exist. */
  get isStale(): boolean {
    return this.state === 'half-open' && this.#now() - this.#changedAt >= staleMs;
  }

  /** Time for which calls are rejected, in milliseconds; undefined when a call may proceed now. */
  get rejectsForMs(): number | undefined {
    const { state } = this;
    if (state === 'closed') return undefined;
    if (state === 'open') return Math.max(1, this.#openUntil - this.#now());
    return this.#probing ? probeRetryMs : undefined;
  }

  /**
   * Begins a call. While the breaker is half-open, the call is the probe: other calls are rejected until the probe has
   * an outcome or is abandoned.
   * @returns a function to run when the call ends without an outcome, so that another call may be the probe. After a
   *   change of state, the function does nothing
   */
  enter(): () => void {
    if (this.state !== 'half-open') return noop;
    this.#probing = true;
    const since = this.#changedAt;
    return () => {
      if (this.#changedAt === since) this.#probing = false;
    };
  }

  /**
   * Records an outcome.
   * @param begunAt when the call began (same clock); outcomes of calls that began before the last state change are
   *   ignored
   */
  record(outcome: 'success' | 'failure', begunAt: number): void {
    if (begunAt < this.#changedAt) return;
    this.hasOutcomes = true;
    const { state } = this;
    if (state === 'half-open') this.#change(outcome === 'success' ? 'closed' : 'open');
    else if (state === 'closed') this.#count(outcome);
  }

  /** Changes an open breaker to half-open. Does nothing in other states. */
  halfOpen(): void {
    if (this.#state === 'open') this.#change('half-open');
  }

  /** Keeps an open breaker open for another `openMs`. Does nothing in other states. */
  stayOpen(): void {
    if (this.#state === 'open') this.#openUntil = this.#now() + this.#options.thresholds().openMs;
  }

  /** An open breaker has no timer: it becomes half-open when it is first used after `openMs`. */
  #halfOpenWhenDue(): void {
    const { halfOpensAutomatically = true } = this.#options;
    if (this.#state === 'open' && halfOpensAutomatically && this.#now() >= this.#openUntil) this.halfOpen();
  }

  #count(outcome: 'success' | 'failure'): void {
    const { windowMs, minCalls, failurePercent } = this.#options.thresholds();
    this.#window.add({ failed: outcome === 'failure' }, this.#now(), windowMs);
    // A success never opens the breaker, although the share of failures can grow after a short outage as earlier
    // successes leave the window.
    if (outcome === 'success') return;
    const { requests, failures } = this.#counts();
    if (requests >= minCalls && failures * 100 >= requests * failurePercent) this.#change('open');
  }

  #counts(): OutcomeCounts {
    return this.#window.counts(this.#now(), this.#options.thresholds().windowMs);
  }

  #change(state: BreakerState): void {
    this.#state = state;
    this.#changedAt = this.#now();
    this.#probing = false;
    this.#window.clear();
    if (state === 'open') this.#openUntil = this.#changedAt + this.#options.thresholds().openMs;
    this.#options.onChange?.(state);
  }
}

function noop(): void {}
