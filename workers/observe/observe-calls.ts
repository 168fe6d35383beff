// Times every call to a back end for the task it is made for, and hands the trace on in `traceparent`.

import { CodedFailure } from '../task-failure.ts';
import type { BackEndRequest, CallBackEnd } from '../back-end/call-back-end.ts';
import { currentTask, type TaskScope } from './current-task.ts';

/** The same caller, watched. A trace goes on to the back end also when this process sends no spans itself. */
export function observeCalls(call: CallBackEnd): CallBackEnd {
  return async function callObserved(request) {
    const scope = currentTask();
    if (scope === undefined) return call(request);
    const span = scope.span?.start(request.method, { kind: 'client', attributes: attributesOf(request) });
    const startedAt = performance.now();
    try {
      const answer = await call(withTrace(request, span?.traceparent ?? scope.traceparent));
      const { status } = answer;
      const error = status >= 500 ? String(status) : undefined;
      span?.end({ attributes: { 'http.response.status_code': status }, error });
      return answer;
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

/** Where the configuration sends it: the path is the client's and stays out. */
function attributesOf({ method, base }: BackEndRequest) {
  const { hostname, port } = new URL(base);
  return {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': port === '' ? undefined : Number(port),
  };
}
