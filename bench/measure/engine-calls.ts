// Reads from the engine's own metrics how many calls the engine has served. This adds no work during the load and
// treats all targets equally.

/** A line of the metrics: `http_server_requests_seconds_count{…,uri="/api/…"} <calls>`. */
const countLine = /^http_server_requests_seconds_count\{.*uri="\/api\/.*\} ([0-9.E+]+)$/gm;

/**
 * Returns the number of calls to the engine's API since the engine's start.
 * @throws Error when the engine does not publish its metrics
 */
export async function countEngineCalls(engineUrl: string): Promise<number> {
  const response = await fetch(`${engineUrl}/actuator/prometheus`);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`the engine's metrics responded with ${response.status}`);
  return sumOfCounts(text);
}

/** Returns the sum over all paths below `/api/`. */
export function sumOfCounts(metrics: string): number {
  return [...metrics.matchAll(countLine)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}
