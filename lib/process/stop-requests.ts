// Distinguishes the first request to stop from a second one, which ends the process at once.

/**
 * The same signal within this many milliseconds counts once: systemd sends it to every process of a unit, so that it
 * arrives directly and again through the launcher.
 */
const sameSignalMs = 1_000;

/** What a process does on requests to stop; `reason` is the signal, or another trigger for the log. */
export interface StopActions {
  /** Begins the graceful stop. Called once. */
  readonly stop: (reason: string) => void;
  /** Ends the process at once. */
  readonly end: (reason: string) => void;
}

/** Returns the handler of requests to stop. It ignores repetitions of the first reason within a second. */
export function stopRequestHandler({ stop, end }: StopActions): (reason: string) => void {
  let first: { readonly reason: string; readonly atMs: number } | undefined;
  return (reason) => {
    if (first === undefined) {
      first = { reason, atMs: performance.now() };
      stop(reason);
    } else if (reason !== first.reason || performance.now() - first.atMs >= sameSignalMs) end(reason);
  };
}
