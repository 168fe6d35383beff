// An adaptive concurrency limit that follows the latency of the engine (the gradient algorithm of Netflix's
// concurrency-limits).

/** Settings. The limit reads `min` and `max` at each use, so a configuration reload takes effect at once. */
export interface AdaptiveLimitOptions {
  readonly min: number;
  readonly initial: number;
  readonly max: number;
  /** Monotonic clock in milliseconds. Default performance.now(). */
  now?: () => number;
}

/**
 * Calls whose duration is a measure of the engine's latency: the start of an execution and the report of a task result.
 */
export type EngineCallKind = 'start' | 'report';

/** A window closes when it is at least this old (milliseconds) and has `minSamples` starts. */
const windowMs = 500;
const minSamples = 10;
/** Latencies up to this multiple of the baseline are not a sign of queueing in the engine. */
const tolerance = 2;
/** Lower bound of the gradient in one window: a single stall, such as a full garbage collection, is not an overload. */
const minGradient = 0.5;
/** Fraction of the distance to the new value by which one window moves the limit. */
const smoothing = 0.4;
/**
 * Number of windows over which the baseline latency is averaged. While the limit is in use, the measured latency may
 * include queueing, so the baseline adapts slowly. It still adapts; otherwise, the limit would stay at its minimum for
 * an engine that remains slower.
 */
const baselineWindows = { idle: 120, used: 1_200 };
/** Factor by which the limit is multiplied when the engine fails to start an execution. */
const backOff = 0.9;

/**
 * Maximum number of executions that may wait for a worker inside the engine. The limit falls while engine calls take
 * more than `tolerance` times the baseline, and rises while engine calls are faster and the limit is in use. The
 * latency of back ends does not count: a slow back end must not slow down the others.
 */
export class AdaptiveLimit {
  readonly #options: AdaptiveLimitOptions;
  readonly #now: () => number;
  #limit: number;
  /** Baseline latency of start and report together, in milliseconds; undefined before the first window. */
  #baselineMs: number | undefined;
  #sums = { start: { ms: 0, count: 0 }, report: { ms: 0, count: 0 } };
  #reportMs = 0;
  #peakUse = 0;
  #windowSince: number;

  constructor(options: AdaptiveLimitOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#limit = this.#clamp(options.initial);
    this.#windowSince = this.#now();
  }

  /** Current limit, rounded to a whole number. */
  get value(): number {
    return Math.round(this.#clamp(this.#limit));
  }

  /** Notes the number of executions that are waiting now. The limit rises only when it is in use. */
  noteUse(count: number): void {
    if (count > this.#peakUse) this.#peakUse = count;
  }

  /** Records the duration of one engine call, in milliseconds. */
  sample(kind: EngineCallKind, ms: number): void {
    const sum = this.#sums[kind];
    sum.ms += ms;
    sum.count += 1;
    if (this.#sums.start.count >= minSamples && this.#now() - this.#windowSince >= windowMs) this.#closeWindow();
  }

  /** Lowers the limit because the engine failed to start an execution. */
  startFailed(): void {
    this.#limit = this.#clamp(this.#limit * backOff);
  }

  #closeWindow(): void {
    const { start, report } = this.#sums;
    if (report.count > 0) this.#reportMs = report.ms / report.count;
    const latency = start.ms / start.count + this.#reportMs;
    this.#baselineMs ??= latency;
    const gradient = Math.max(minGradient, Math.min(1, (tolerance * this.#baselineMs) / latency));
    const used = this.#peakUse >= this.#limit / 2;
    if (gradient < 1 || used) {
      const target = this.#limit * gradient + Math.sqrt(this.#limit);
      this.#limit = this.#clamp(this.#limit + smoothing * (target - this.#limit));
    }
    this.#baselineMs += (latency - this.#baselineMs) / baselineWindows[used ? 'used' : 'idle'];
    // After a long overload, the baseline is far above the latency. It then falls faster than it rose.
    if (this.#baselineMs > tolerance * latency) this.#baselineMs *= 0.95;
    this.#sums = { start: { ms: 0, count: 0 }, report: { ms: 0, count: 0 } };
    this.#peakUse = 0;
    this.#windowSince = this.#now();
  }

  #clamp(limit: number): number {
    return Math.min(this.#options.max, Math.max(this.#options.min, limit));
  }
}
