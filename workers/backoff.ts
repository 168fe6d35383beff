// Exponential backoff with a cap and jitter, so that many workers do not retry at the same moment.

import { setTimeout as delay } from 'node:timers/promises';

/** Bounds of the backoff. */
export interface BackoffLimits {
  /** Pause before the first retry, in any unit of time. */
  base: number;
  /** Longest pause, in the same unit. */
  max: number;
}

/**
 * Returns the pause after `failures` consecutive failures (from 1): a random value in the upper half of
 * min(max, base × 2^(failures − 1)).
 */
export function backoff(failures: number, { base, max }: BackoffLimits): number {
  const full = Math.min(max, base * 2 ** Math.min(failures - 1, 30));
  return full / 2 + (full / 2) * Math.random();
}

/** Waits `ms` milliseconds; resolves early when `signal` aborts. Never rejects. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal });
  } catch {
    // The pause was aborted; the caller checks the signal.
  }
}
