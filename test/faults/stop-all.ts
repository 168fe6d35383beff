// Stops everything that a run has started.

/**
 * Runs the functions in reverse order and continues when one of them fails. Returns the messages of the errors.
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
