// Stops everything that a run has started.

/**
 * Runs these functions in reverse order, each of them even when another one fails. Returns the messages of those that
 * failed.
 */
export async function stopAll(stops: readonly (() => unknown)[]): Promise<string[]> {
  const failed: string[] = [];
  for (const stop of stops.toReversed()) {
    try {
      await stop();
    } catch (error) {
      failed.push((error as Error).message);
    }
  }
  return failed;
}
