// A circuit breaker: closed, open after too many failures in a window, half-open for a probe (after Hystrix).

export type BreakerState = 'closed' | 'open' | 'half-open';

export interface BreakerThresholds {
  /** Outcomes older than this do not count, in milliseconds. */
  windowMs: number;
  /** Fewer outcomes than this in the window say nothing. */
  minCalls: number;
  /** Opens when at least this share of the outcomes in the window are failures, in percent. */
  failurePercent: number;
  /** How long it stays open before a probe is let through, in milliseconds. */
  openMs: number;
}

export interface BreakerOptions {
  /** Asked at each use: they may change while it works. */
  thresholds: () => BreakerThresholds;
  /** False: it stays open until {@link CircuitBreaker.halfOpen} is called. Default true. */
  halfOpensItself?: boolean;
  /** Milliseconds that only go forward. Default performance.now(). */
  now?: () => number;
  /** Called after each change of state. */
  onChange?: (state: BreakerState) => void;
}

/** Outcomes are counted in so many parts of the window; the oldest part is dropped as a whole. */
const buckets = 10;
/** While a probe is out, others are told to come again after this time, in milliseconds. */
const probeRetryMs = 1_000;

export class CircuitBreaker {
  readonly #options: BreakerOptions;
  readonly #now: () => number;
  #state: BreakerState = 'closed';
  #changedAt = Number.NEGATIVE_INFINITY;
  #openUntil = 0;
  #probing = false;
  /** True once there has been an outcome. */
  used = false;
  #window: { since: number; failures: number; successes: number }[] = [];

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  get state(): BreakerState {
    const { halfOpensItself = true } = this.#options;
    if (this.#state === 'open' && halfOpensItself && this.#now() >= this.#openUntil) this.halfOpen();
    return this.#state;
  }

  /** True when it remembers nothing that a new one would not. */
  get blank(): boolean {
    return this.state === 'closed' && this.#recent().length === 0;
  }

  /** Milliseconds until it is worth trying again; undefined when a call may pass now. */
  get refusedForMs(): number | undefined {
    const { state } = this;
    if (state === 'closed') return undefined;
    if (state === 'open') return Math.max(1, this.#openUntil - this.#now());
    return this.#probing ? probeRetryMs : undefined;
  }

  /**
   * Lets a call through. In half-open it is the probe, and nobody else passes until it has an outcome or has left.
   * @returns called when the call is over without an outcome: another may probe. Calling it later does nothing
   */
  enter(): () => void {
    if (this.state !== 'half-open') return nothing;
    this.#probing = true;
    const since = this.#changedAt;
    return () => {
      if (this.#changedAt === since) this.#probing = false;
    };
  }

  /**
   * Records an outcome.
   * @param begunAt when the call began (the same clock): an outcome of a call from before the last change says nothing
   */
  record(outcome: 'success' | 'failure', begunAt: number): void {
    if (begunAt < this.#changedAt) return;
    this.used = true;
    const { state } = this;
    if (state === 'half-open') this.#change(outcome === 'success' ? 'closed' : 'open');
    else if (state === 'closed') this.#count(outcome);
  }

  /** Lets a probe through. Does nothing unless it is open. */
  halfOpen(): void {
    if (this.#state === 'open') this.#change('half-open');
  }

  /** Stays open for another `openMs`. Does nothing unless it is open. */
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

function nothing(): void {}
