// Handles requests to stop a process: the first stops it gracefully, and a second one ends it at once.

/**
 * The same signal within this many milliseconds counts once: systemd sends a signal to every process of a unit, so a
 * program receives it directly and again through the launcher.
 */
const sameSignalMs = 1_000;

/** The actions of a process on requests to stop. `reason` names the signal or other trigger, for the log. */
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
