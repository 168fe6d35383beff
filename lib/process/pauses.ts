// Splits long CPU-bound work into slices, so that it does not block the event loop.

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** Duration of a slice before the event loop gets control, in milliseconds. */
const sliceMs = 2;

/**
 * Starts the first slice.
 * @returns a function to await after each step. It yields to the event loop only when the slice is over, not after
 *   every step, because an iteration of the event loop takes a long time on a busy machine
 */
export function createPauses(): () => Promise<void> {
  let since = performance.now();
  return async function pause() {
    if (performance.now() - since < sliceMs) return;
    await yieldToEventLoop();
    since = performance.now();
  };
}
