// Polls for a condition, with a deadline and a label for the error message.

import { setTimeout as pause } from 'node:timers/promises';

/**
 * Calls `probe` until it returns something other than undefined, false or null.
 * @param label completes the sentence "timed out waiting for …"
 */
export async function pollUntil<T>(
  label: string,
  probe: () => Promise<T | undefined | false | null> | T | undefined | false | null,
  { timeoutMs = 120_000, everyMs = 25 } = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false && found !== null) return found;
    if (performance.now() > deadline) throw new Error(`timed out after ${timeoutMs} ms waiting for ${label}`);
    await pause(everyMs);
  }
}
