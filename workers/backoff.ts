// How long to wait before the next try: exponential, capped, with jitter, so that many workers do not return at once.

import { setTimeout as delay } from 'node:timers/promises';

export interface BackoffLimits {
  /** Pause before the second try, in any unit of time. */
  base: number;
  /** Longest pause, in the same unit. */
  max: number;
}

/** Pause after the `failures`-th failure in a row (from 1): a random value in the upper half of min(max, base × 2^n). */
export function backoff(failures: number, { base, max }: BackoffLimits): number {
  const full = Math.min(max, base * 2 ** Math.min(failures - 1, 30));
  return full / 2 + (full / 2) * Math.random();
}

/** Waits; ends early, without an error, when `signal` aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal });
  } catch {
    // Aborted: whoever aborted looks after what follows.
  }
}
