// The trace span of a client's request, created on first use.

import type { IncomingMessage } from 'node:http';
import { isTraceparent } from '#lib/envelope/traceparent.ts';
import type { Span, Tracer } from '#lib/telemetry/tracing/tracer.ts';
import { contextOf } from './request-context.ts';

/**
 * Returns the span of a request; every call returns the same one. Its parent is the client's `traceparent`, if valid.
 */
export function requestSpan(request: IncomingMessage, tracer: Tracer): Span {
  const context = contextOf(request);
  if (context.span !== undefined) return context.span;
  const { traceparent } = request.headers;
  const span = tracer.start(`${request.method} ${context.route}`, {
    kind: 'server',
    parent: isTraceparent(traceparent) ? traceparent : undefined,
    ...(context.receivedAt === undefined ? {} : { startedAt: context.receivedAt }),
  });
  context.span = span;
  return span;
}
