// Measures elapsed time, including time during which the process or the machine is suspended.

/**
 * Starts a stopwatch.
 * @returns a function that returns the elapsed milliseconds. Linux's monotonic clock stops while the machine sleeps,
 *   and the wall clock may be adjusted, so the larger of the two differences counts.
 */
export function startStopwatch(): () => number {
  const [monotonic, wall] = [performance.now(), Date.now()];
  return () => Math.max(performance.now() - monotonic, Date.now() - wall);
}
