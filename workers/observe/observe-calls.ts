// Telemetry of back-end calls: their duration, a client span, and the `traceparent` header (W3C Trace Context).

import { CodedFailure } from '../task-failure.ts';
import type { BackEndRequest, CallBackEnd } from '../back-end/call-back-end.ts';
import { currentTask, type TaskScope } from './current-task.ts';

/** Wraps a back-end client with telemetry. The trace context is forwarded even when this process exports no spans. */
export function withCallTelemetry(call: CallBackEnd): CallBackEnd {
  return async function callWithTelemetry(request) {
    const scope = currentTask();
    if (scope === undefined) return call(request);
    const span = scope.span?.start(request.method, { kind: 'client', attributes: attributesOf(request) });
    const startedAt = performance.now();
    try {
      const response = await call(withTrace(request, span?.traceparent ?? scope.traceparent));
      const { status } = response;
      const error = status >= 500 ? String(status) : undefined;
      span?.end({ attributes: { 'http.response.status_code': status }, error });
      return response;
    } catch (error) {
      span?.end({ error: error instanceof CodedFailure ? error.code : 'failed' });
      throw error;
    } finally {
      addTime(scope, performance.now() - startedAt);
    }
  };
}

function addTime(scope: TaskScope, ms: number): void {
  scope.backEndMs += ms;
}

function withTrace(request: BackEndRequest, traceparent: string | undefined): BackEndRequest {
  return traceparent === undefined ? request : { ...request, headers: { ...request.headers, traceparent } };
}

/** Returns span attributes of the configured server. The path comes from the client and is left out. */
function attributesOf({ method, base }: BackEndRequest) {
  const { hostname, port } = new URL(base);
  return {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': port === '' ? undefined : Number(port),
  };
}
