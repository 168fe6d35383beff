// Polls for a condition, with a deadline and a label for the error message.

import { setTimeout as pause } from 'node:timers/promises';

const shortestPauseMs = 10;

/**
 * Calls `probe` until it returns something other than undefined, false or null. The pause between two calls grows to a
 * tenth of the time waited, because each call costs the program under test time on a core that other tests need.
 * @param label completes the sentence "timed out waiting for …"
 * @param options `everyMs`: the longest pause, in milliseconds
 */
export async function pollUntil<T>(
  label: string,
  probe: () => Promise<T | undefined | false | null> | T | undefined | false | null,
  { timeoutMs = 120_000, everyMs = 100 } = {},
): Promise<T> {
  const start = performance.now();
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false && found !== null) return found;
    const waitedMs = performance.now() - start;
    if (waitedMs > timeoutMs) throw new Error(`timed out after ${timeoutMs} ms waiting for ${label}`);
    await pause(Math.min(everyMs, Math.max(shortestPauseMs, waitedMs / 10)));
  }
}
