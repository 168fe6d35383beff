// A circuit breaker: closed, open after too many failures in a window, half-open for a probe (after Hystrix).

/** State of a circuit breaker. */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** When a circuit breaker opens, and for how long. */
export interface BreakerThresholds {
  /** Outcomes older than this do not count, in milliseconds. */
  windowMs: number;
  /** Minimum number of outcomes in the window before the breaker may open. */
  minCalls: number;
  /** Opens when at least this share of the outcomes in the window are failures, in percent. */
  failurePercent: number;
  /** How long it stays open before a probe is let through, in milliseconds. */
  openMs: number;
}

/** Settings of a circuit breaker. */
export interface BreakerOptions {
  /** Called at each use, so a configuration reload takes effect at once. */
  thresholds: () => BreakerThresholds;
  /** False: the breaker stays open until {@link CircuitBreaker.halfOpen} is called. Default true. */
  halfOpensAutomatically?: boolean;
  /** Monotonic clock in milliseconds. Default performance.now(). */
  now?: () => number;
  /** Called after each change of state. */
  onChange?: (state: BreakerState) => void;
}

/** Number of buckets in the window. The oldest bucket is dropped as a whole. */
const buckets = 10;
/** Retry time for other calls while a probe is in flight, in milliseconds. */
const probeRetryMs = 1_000;

/** A circuit breaker with one probe in half-open. */
export class CircuitBreaker {
  readonly #options: BreakerOptions;
  readonly #now: () => number;
  #state: BreakerState = 'closed';
  #changedAt = Number.NEGATIVE_INFINITY;
  #openUntil = 0;
  #probing = false;
  /** True after the first outcome. */
  hasOutcomes = false;
  #window: { since: number; failures: number; successes: number }[] = [];

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Current state. An open breaker becomes half-open here when `openMs` has passed. */
  get state(): BreakerState {
    const { halfOpensAutomatically = true } = this.#options;
    if (this.#state === 'open' && halfOpensAutomatically && this.#now() >= this.#openUntil) this.halfOpen();
    return this.#state;
  }

  /** True when the breaker is closed and has no recent outcome: a new one would behave the same. */
  get isPristine(): boolean {
    return this.state === 'closed' && this.#recent().length === 0;
  }

  /** Time for which calls are rejected, in milliseconds; undefined when a call may proceed now. */
  get rejectsForMs(): number | undefined {
    const { state } = this;
    if (state === 'closed') return undefined;
    if (state === 'open') return Math.max(1, this.#openUntil - this.#now());
    return this.#probing ? probeRetryMs : undefined;
  }

  /**
   * Begins a call. In half-open the call is the probe: other calls are rejected until the probe has an outcome or is
   * abandoned.
   * @returns function to call when the call ends without an outcome, so that another call may probe. A late call does
   *   nothing
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

  #count(outcome: 'success' | 'failure'): void {
    const { windowMs, minCalls, failurePercent } = this.#options.thresholds();
    const window = this.#recent();
    const now = this.#now();
    let last = window.at(-1);
    if (last === undefined || now - last.since >= windowMs / buckets)
      window.push((last = { since: now, failures: 0, successes: 0 }));
    last[outcome === 'success' ? 'successes' : 'failures'] += 1;
    const failures = window.reduce((sum, bucket) => sum + bucket.failures, 0);
    const calls = window.reduce((sum, bucket) => sum + bucket.failures + bucket.successes, 0);
    if (calls >= minCalls && failures * 100 >= calls * failurePercent) this.#change('open');
  }

  #recent() {
    const oldest = this.#now() - this.#options.thresholds().windowMs;
    const first = this.#window.findIndex(({ since }) => since > oldest);
    if (first !== 0) this.#window.splice(0, first === -1 ? this.#window.length : first);
    return this.#window;
  }

  #change(state: BreakerState): void {
    this.#state = state;
    this.#changedAt = this.#now();
    this.#probing = false;
    this.#window = [];
    if (state === 'open') this.#openUntil = this.#changedAt + this.#options.thresholds().openMs;
    this.#options.onChange?.(state);
  }
}

function noop(): void {}
