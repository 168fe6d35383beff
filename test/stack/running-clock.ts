// A clock of the time that this process was running: a stopped process, or one without a processor, counts no ticks.

const tickMs = 20;

/** Starts the clock. @returns the milliseconds since then, and a function that ends it */
export function startRunningClock(): { readonly elapsedMs: () => number; readonly stop: () => void } {
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), tickMs);
  return { elapsedMs: () => ticks * tickMs, stop: () => clearInterval(timer) };
}
