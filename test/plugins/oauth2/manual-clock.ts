// A clock that stands still until a test moves it.

/** Creates a clock that starts at the machine's current time. */
export function createManualClock() {
  const startMs = Date.now();
  let passedMs = 0;
  const timers = new Set<{ atMs: number; action: () => void }>();
  return {
    wallMs: () => startMs + passedMs,
    ticksMs: () => passedMs,
    after(delayMs: number, action: () => void) {
      const timer = { atMs: passedMs + delayMs, action };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    /** Advances `wallMs` and `ticksMs`, and runs the timers that become due, in order. */
    advance(ms: number) {
      const endMs = passedMs + ms;
      for (;;) {
        const [next] = [...timers].filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs);
        if (next === undefined) break;
        timers.delete(next);
        passedMs = Math.max(passedMs, next.atMs);
        next.action();
      }
      passedMs = endMs;
    },
  };
}

export type ManualClock = ReturnType<typeof createManualClock>;
