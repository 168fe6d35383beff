// The problem with which a draining router rejects every call that it no longer serves.

import { Problem } from '#lib/problem/problem.ts';

/** Returns 503 `shutting-down`: nothing was started. @param headers further header fields of the response */
export function shuttingDown(headers: Readonly<Record<string, string>> = {}): Problem {
  return new Problem('shutting-down', { headers: { 'retry-after': '1', ...headers } });
}
