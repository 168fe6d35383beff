// Log fields of a policy's failure.

import type { IncomingMessage } from 'node:http';
import { errorFields } from '#lib/telemetry/logging/log.ts';
import { contextOf } from '../plugin-api/plugin-api.ts';

/** Returns the ids and the route of a request, as log fields and as tags of an error report. */
export function requestFields(request: IncomingMessage): Record<string, string> {
  const { requestId, executionId, route } = contextOf(request);
  return { requestId, ...(executionId !== undefined && { executionId }), route };
}

/** Returns the log fields of an error that a policy threw for a request, with its stack. */
export function failureFields(request: IncomingMessage, error: unknown): Record<string, unknown> {
  return { ...requestFields(request), ...errorFields(error), stack: (error as Error | null | undefined)?.stack };
}
