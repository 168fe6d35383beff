// Delays 429 responses, so that a client that retries at once after a rejection takes less capacity from the others.

import type { ServerResponse } from 'node:http';

/** Maximum number of responses held at a time; above it, rejections are sent at once. */
const maxHeld = 1_000;

/** Resolves when the rejection may be sent, or when the client has disconnected. */
export type HoldRefusal = (response: ServerResponse) => Promise<void>;

/**
 * Returns the function that delays rejections.
 * @param ms delay in milliseconds; 0 disables it
 */
export function createRefusalHold(ms: number): HoldRefusal {
  let held = 0;
  return async (response) => {
    if (ms === 0 || held >= maxHeld || response.destroyed) return;
    held += 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    response.once('close', resolve);
    await promise;
    clearTimeout(timer);
    response.off('close', resolve);
    held -= 1;
  };
}
