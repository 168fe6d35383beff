// Delays 429 responses, so that a client that retries at once after a rejection takes less capacity from other clients.

import type { ServerResponse } from 'node:http';

/** Maximum number of responses delayed at a time; above it, rejections are sent at once. */
const maxDelayed = 1_000;

/** Resolves when the rejection may be sent, or when the client has disconnected. */
export type DelayRejection = (response: ServerResponse) => Promise<void>;

/**
 * Returns the function that delays rejections.
 * @param ms delay in milliseconds; 0 disables it
 */
export function createRejectionDelay(ms: number): DelayRejection {
  let delayed = 0;
  return async (response) => {
    if (ms === 0 || delayed >= maxDelayed || response.destroyed) return;
    delayed += 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    response.once('close', resolve);
    await promise;
    clearTimeout(timer);
    response.off('close', resolve);
    delayed -= 1;
  };
}
