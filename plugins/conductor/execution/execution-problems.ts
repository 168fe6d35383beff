// The problems that an execution may end with, for the OpenAPI document.

import { failureCodes } from '#lib/envelope/failure.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';

/** How an execution may end for its client, with what a worker may name. */
export const problemsOfExecutions: readonly ProblemCode[] = [
  'execution-failed',
  'execution-timed-out',
  'execution-cancelled',
  'wait-budget-spent',
  ...failureCodes.filter((code) => code !== 'unknown-college'),
];
