// The clock of this plugin; tests replace it.

/** A source of time and timers. */
export interface Clock {
  /** Time of day in milliseconds since the epoch, for `exp` and `nbf`. */
  wallMs(): number;
  /** Monotonic time in milliseconds, for ages and pauses. */
  ticksMs(): number;
  /**
   * Runs `action` once after `delayMs` milliseconds; does not keep the process alive. Returns a function that cancels
   * the timer.
   */
  after(delayMs: number, action: () => void): () => void;
}

/** The clock of the process: `Date.now()`, `performance.now()` and `setTimeout`. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  ticksMs: () => performance.now(),
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
