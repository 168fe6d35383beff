// The fetch that returned a task, and whether the task may still go to a worker.

import type { Task } from '#lib/conductor/types.ts';

/**
 * Tasks fetched longer ago than this (milliseconds) go back to the engine instead of to a worker: this router was
 * suspended in between. The fetch itself does not count, because a slow engine may need seconds for it.
 */
const maxHoldMs = 5_000;
/**
 * A task also goes back when this fraction of its response timeout has passed since the start of its fetch. The rest is
 * for the worker. After a fetch during which this router was suspended, tasks may have timed out in the engine.
 */
const deliveryFraction = 1 / 2;
/** The fetch that returned a task. */
export interface Fetch {
  /** Returns the milliseconds since its start. */
  readonly sinceStartMs: () => number;
  /** Duration in milliseconds. */
  readonly tookMs: number;
}

/** Returns false for a task that goes back to the engine. */
export function isInTime({ responseTimeoutSeconds }: Task, { sinceStartMs, tookMs }: Fetch): boolean {
  const ageMs = sinceStartMs();
  if (ageMs - tookMs > maxHoldMs) return false;
  const responseTimeoutMs = Number(responseTimeoutSeconds ?? 0) * 1_000;
  // 0: the engine never times the task out.
  return responseTimeoutMs === 0 || ageMs <= responseTimeoutMs * deliveryFraction;
}
