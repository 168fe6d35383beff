// Logs failures of policies, and reports unexpected ones to error tracking.

import type { IncomingMessage } from 'node:http';
import { toProblem } from '#lib/problem/problem.ts';
import { errorFields } from '#lib/telemetry/logging/log.ts';
import { contextOf, type RouterServices } from '../plugin-api/plugin-api.ts';

/** What a report needs. */
export type FailureReporter = Pick<RouterServices, 'log' | 'reportError'>;

/** Returns the ids and the route of a request, as log fields and as tags of an error report. */
export function requestFields(request: IncomingMessage): Record<string, string> {
  const { requestId, executionId, route } = contextOf(request);
  return { requestId, ...(executionId !== undefined && { executionId }), route };
}

/** Logs a policy error with its stack. Reports the error unless it is a Problem that the policy chose. */
export function reportFailure(
  { log, reportError }: FailureReporter,
  request: IncomingMessage,
  { error, message }: { error: unknown; message: string },
): void {
  const fields = requestFields(request);
  log.error({ ...fields, ...errorFields(error), stack: (error as Error | null | undefined)?.stack }, message);
  if (toProblem(error).code === 'internal-error') reportError(error, { code: 'internal-error', ...fields });
}
