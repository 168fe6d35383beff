// A clock that measures only time during which this process was running: it does not tick while the process is stopped
// or gets no CPU time.

const tickMs = 20;

/** Starts the clock. @returns functions that return the elapsed milliseconds and stop the clock */
export function startRunningClock(): { readonly elapsedMs: () => number; readonly stop: () => void } {
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), tickMs);
  return { elapsedMs: () => ticks * tickMs, stop: () => clearInterval(timer) };
}
