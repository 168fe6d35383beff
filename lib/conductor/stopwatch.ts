// A stopwatch that also counts while the process or the machine is suspended.

/**
 * Starts it.
 * @returns a function that tells the milliseconds since then. The monotonic clock of Linux stands still while the machine
 *   sleeps, and the wall clock may be set: the longer of the two times counts.
 */
export function startStopwatch(): () => number {
  const [monotonic, wall] = [performance.now(), Date.now()];
  return () => Math.max(performance.now() - monotonic, Date.now() - wall);
}
