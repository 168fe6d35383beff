// The problem with which the router rejects every call that needs the engine while the engine does not respond.

import { Problem } from '#lib/problem/problem.ts';

/**
 * Returns 503 `engine-unavailable`: the call started nothing, or was only a read.
 * @param cause the engine's error, for logs
 */
export function engineUnavailable(cause?: unknown): Problem {
  return new Problem('engine-unavailable', { headers: { 'retry-after': '1' }, cause });
}
