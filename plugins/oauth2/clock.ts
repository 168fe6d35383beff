// Time as this plugin sees it: one place to ask, so that tests can move it.

export interface Clock {
  /** Time of day in milliseconds since the epoch: what `exp` and `nbf` are compared with. */
  wallMs(): number;
  /** Milliseconds that never jump: what ages and pauses are measured with. */
  ticksMs(): number;
  /** Runs `action` once after `delayMs`; keeps no process alive. Returns what cancels it. */
  after(delayMs: number, action: () => void): () => void;
}

/** The machine's own clocks. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  ticksMs: () => performance.now(),
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
