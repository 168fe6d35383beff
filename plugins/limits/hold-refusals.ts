// Refusals leave late: a client beyond its limit that asks again as soon as it is answered takes no time from the others.

import type { ServerResponse } from 'node:http';

/** Answers held back at once; beyond them, refusals leave at once. */
const mostHeld = 1_000;

/** Resolves when a refusal may leave. */
export type HoldRefusal = (response: ServerResponse) => Promise<void>;

/** @param ms how long each is held, in milliseconds; 0 = not at all */
export function createRefusalHold(ms: number): HoldRefusal {
  let held = 0;
  return async (response) => {
    if (ms === 0 || held >= mostHeld || response.destroyed) return;
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
