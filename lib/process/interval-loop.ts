// Runs a task at intervals, with at most one run at a time.

/** Options of {@link startIntervalLoop}. */
export interface IntervalLoopOptions {
  /**
   * Performs one run. Returns the delay before the next run, in milliseconds. When it returns undefined, the next run
   * starts `intervalMs` after the start of this run, or at once if this run took longer. Must not reject.
   */
  readonly run: (signal: AbortSignal) => Promise<number | undefined | void>;
  /** Time between the starts of two runs, in milliseconds. */
  readonly intervalMs: number;
  /** Delay before the first run, in milliseconds. Default: 0, at once. */
  readonly initialDelayMs?: number;
}

/** A running loop. */
export interface IntervalLoop {
  /** Stops the loop and aborts the signal of the current run; resolves when that run has ended. */
  stop(): Promise<void>;
}

/** Starts a loop and returns at once. The first run begins after `initialDelayMs`. */
export function startIntervalLoop({ run, intervalMs, initialDelayMs = 0 }: IntervalLoopOptions): IntervalLoop {
  const stopping = new AbortController();
  const { signal } = stopping;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const runOnce = async (): Promise<void> => {
    const startedAt = performance.now();
    const delayMs = await run(signal);
    const remainingMs = intervalMs - (performance.now() - startedAt);
    if (!signal.aborted) schedule(delayMs ?? Math.max(0, remainingMs));
  };
  const schedule = (delayMs: number): void => {
    timer = setTimeout(() => (running = runOnce()), delayMs);
  };
  if (initialDelayMs > 0) schedule(initialDelayMs);
  else running = runOnce();
  return {
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
