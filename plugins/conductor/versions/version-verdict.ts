// What the end of a request says of the version that served it.

import type { ExecutionEnding } from '../../../gateway/plugin-api/plugin-api.ts';
import { type ProblemCode, problemKinds } from '#lib/problem/catalogue.ts';

/** `not-counted`: neither for nor against the version. */
export type Verdict = 'ok' | 'failed' | 'not-counted';

/** Those whose reason is the engine or the router. */
const nobodysFault: ReadonlySet<ProblemCode> = new Set([
  'engine-unavailable',
  'outcome-unknown',
  'shutting-down',
  'idempotency-unavailable',
  'internal-error',
]);

/**
 * A 5xx answer is a failure, of the back end as well as of the workflow; also 503 `definition-missing`: the engine does not
 * have the version. A 4xx answer of the back end is as good as any other.
 * @param engineFailed true when the engine failed meanwhile: then nothing counts against a version
 */
export function verdictOf({ problem, clientGone, status = 200 }: ExecutionEnding, engineFailed: boolean): Verdict {
  if (clientGone || (problem !== undefined && nobodysFault.has(problem))) return 'not-counted';
  const answered = problem === undefined ? status : problemKinds[problem].status;
  if (answered >= 500) return engineFailed ? 'not-counted' : 'failed';
  return problem === undefined ? 'ok' : 'not-counted';
}
