// The problem codes of failed executions, for the OpenAPI document.

import { failureCodes } from '#lib/envelope/failure.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';

/** Problem codes that a client may get for its execution, including the codes that workers may report. */
export const problemsOfExecutions: readonly ProblemCode[] = [
  'execution-failed',
  'execution-timed-out',
  'execution-cancelled',
  'wait-budget-spent',
  ...failureCodes.filter((code) => code !== 'unknown-college'),
];
