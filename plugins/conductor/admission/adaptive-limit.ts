// How many executions may wait for a worker inside the engine: follows the engine's own latency (the gradient of Netflix's concurrency-limits).

/** `min` and `max` are read at each use: they may change while it works. */
export interface AdaptiveLimitOptions {
  readonly min: number;
  readonly initial: number;
  readonly max: number;
  /** Milliseconds that only go forward. Default performance.now(). */
  now?: () => number;
}

/** The calls of one execution whose time is the engine's share. */
export type EngineShare = 'start' | 'report';

/** A window is closed when it is this old (milliseconds) and has so many starts. */
const windowMs = 500;
const minSamples = 10;
/** A latency of up to so many times the usual one is no sign of a queue. */
const tolerance = 2;
/** Of one window, how far the limit may fall: a single bad moment (a full collection) is no overload. */
const steepest = 0.5;
/** How much of the way to a new value is gone in one window. */
const smoothing = 0.4;
/**
 * The usual latency is an average over about so many windows. While the limit is used the latency may be that of a
 * queue, and is learned slowly; but it is learned, or an engine that is slower for good would be held at the floor.
 */
const usualWindows = { idle: 120, used: 1_200 };
/** What an engine that fails a start takes from the limit. */
const backOff = 0.9;

/**
 * The limit falls while the engine's calls take longer than they usually do, and rises while they do not and the
 * limit is used. How long a back end takes is not in it: a slow back end must not slow the others.
 */
export class AdaptiveLimit {
  readonly #options: AdaptiveLimitOptions;
  readonly #now: () => number;
  #limit: number;
  /** Of start and report together, in milliseconds; undefined before the first window. */
  #usualMs: number | undefined;
  #sums = { start: { ms: 0, count: 0 }, report: { ms: 0, count: 0 } };
  #reportMs = 0;
  #mostUsed = 0;
  #windowSince: number;

  constructor(options: AdaptiveLimitOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#limit = this.#clamp(options.initial);
    this.#windowSince = this.#now();
  }

  get value(): number {
    return Math.round(this.#clamp(this.#limit));
  }

  /** Notes how many there are; the limit rises only when it is in the way. */
  noteUse(count: number): void {
    if (count > this.#mostUsed) this.#mostUsed = count;
  }

  /** Notes how long the engine took for one call. */
  sample(share: EngineShare, ms: number): void {
    const sum = this.#sums[share];
    sum.ms += ms;
    sum.count += 1;
    if (this.#sums.start.count >= minSamples && this.#now() - this.#windowSince >= windowMs) this.#closeWindow();
  }

  /** The engine failed a start: whatever it is, more of the same does not help. */
  failed(): void {
    this.#limit = this.#clamp(this.#limit * backOff);
  }

  #closeWindow(): void {
    const { start, report } = this.#sums;
    if (report.count > 0) this.#reportMs = report.ms / report.count;
    const latency = start.ms / start.count + this.#reportMs;
    this.#usualMs ??= latency;
    const gradient = Math.max(steepest, Math.min(1, (tolerance * this.#usualMs) / latency));
    const used = this.#mostUsed >= this.#limit / 2;
    if (gradient < 1 || used) {
      const target = this.#limit * gradient + Math.sqrt(this.#limit);
      this.#limit = this.#clamp(this.#limit + smoothing * (target - this.#limit));
    }
    this.#usualMs += (latency - this.#usualMs) / usualWindows[used ? 'used' : 'idle'];
    // After a long overload the average is far above what it measures: it comes down faster than it went up.
    if (this.#usualMs > tolerance * latency) this.#usualMs *= 0.95;
    this.#sums = { start: { ms: 0, count: 0 }, report: { ms: 0, count: 0 } };
    this.#mostUsed = 0;
    this.#windowSince = this.#now();
  }

  #clamp(limit: number): number {
    return Math.min(this.#options.max, Math.max(this.#options.min, limit));
  }
}
