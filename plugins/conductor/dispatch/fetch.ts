// Decides whether a fetched task may still go to a worker, depending on how long ago it was fetched.

import type { Task } from '#lib/conductor/types.ts';

/**
 * Tasks that were fetched longer ago than this (milliseconds) go back to the engine instead of to a worker, because
 * this router must have been suspended since then. The duration of the fetch itself does not count, because a slow
 * engine may need seconds for a fetch.
 */
const maxHoldMs = 5_000;
/**
 * A task also goes back when this fraction of its response timeout has passed since the start of its fetch. The rest of
 * the timeout is for the worker. If this router was suspended during the fetch, tasks may have timed out in the engine.
 */
const deliveryFraction = 1 / 2;
/** The fetch that returned a task. */
export interface Fetch {
  /** Returns the milliseconds since the fetch started. */
  readonly sinceStartMs: () => number;
  /** Duration in milliseconds. */
  readonly tookMs: number;
}

/** Returns false for a task that goes back to the engine. */
export function isInTime({ responseTimeoutSeconds }: Task, { sinceStartMs, tookMs }: Fetch): boolean {
  const ageMs = sinceStartMs();
  if (ageMs - tookMs > maxHoldMs) return false;
  const responseTimeoutMs = Number(responseTimeoutSeconds ?? 0) * 1_000;
  // With 0, the engine never times out the task.
  return responseTimeoutMs === 0 || ageMs <= responseTimeoutMs * deliveryFraction;
}
