// Decides whether the outcome of a request counts as a success or a failure of its workflow version.

import type { ExecutionEnding } from '../execution/outcome.ts';
import { type ProblemCode, problemKinds } from '#lib/problem/catalogue.ts';

/** `not-counted`: neither a success nor a failure of the version. */
export type Verdict = 'ok' | 'failed' | 'not-counted';

/** Problems that the engine or the router causes. */
const notVersionFailures: ReadonlySet<ProblemCode> = new Set([
  'engine-unavailable',
  'outcome-unknown',
  'internal-error',
]);

/**
 * Returns the verdict on an outcome. A 5xx response is a failure, whether the back end or the workflow causes it. A 503
 * `definition-missing` is a failure too, because the version is not registered. A 4xx response from the back end is a
 * success.
 * @param engineFailed true when the engine failed during the request; no failure then counts against the version
 */
export function verdictOf({ problem, clientGone, status = 200 }: ExecutionEnding, engineFailed: boolean): Verdict {
  if (clientGone || (problem !== undefined && notVersionFailures.has(problem))) return 'not-counted';
  const responseStatus = problem === undefined ? status : problemKinds[problem].status;
  if (responseStatus >= 500) return engineFailed ? 'not-counted' : 'failed';
  return problem === undefined ? 'ok' : 'not-counted';
}
