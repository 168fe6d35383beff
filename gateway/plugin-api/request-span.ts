// The span of a client's request, made when somebody needs it: most often to hang the execution below it.

import type { IncomingMessage } from 'node:http';
import { isTraceparent } from '#lib/envelope/traceparent.ts';
import type { Span, Tracer } from '#lib/telemetry/tracing/tracer.ts';
import { contextOf } from './plugin-api.ts';

/** Below the client's own `traceparent` when it sent a valid one. The same span however often it is asked for. */
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
