// The common part of the intake workers: sends the client's request to a back end and returns the response as output.

import type { Task } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';
import { pickHeaders, requestHeaderFilter } from '#lib/envelope/headers.ts';
import type { ReceivedInbound } from '#lib/envelope/inbound.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import { createResponder } from './responder.ts';
import type { TaskOutcome, WorkerDependencies } from './worker.ts';

/** Returns the base URL of the back end for a request. @throws CodedFailure when there is none */
export type SelectBaseUrl = (inbound: ReceivedInbound, config: Config) => string;

/** Creates the `execute` function of an intake worker. */
export function createIntake(
  { config, callBackEnd }: WorkerDependencies,
  selectBaseUrl: SelectBaseUrl,
): (task: Task) => Promise<TaskOutcome> {
  const allows = requestHeaderFilter(config['router.requestHeaders']);
  return createResponder(config, (inbound, { workflowInstanceId }) =>
    callBackEnd({
      base: selectBaseUrl(inbound, config),
      method: inbound.httpMethod,
      path: inbound.path,
      query: inbound.query,
      headers: { ...pickHeaders(inbound.headers, allows), ...addedHeaders(inbound, workflowInstanceId) },
      body: inbound.body,
    }),
  );
}

/**
 * Headers that the worker adds: the request id and, for a write, the key by which a back end detects a repeated
 * request.
 */
function addedHeaders(inbound: ReceivedInbound, executionId: string): Record<string, string> {
  return {
    'x-request-id': inbound.requestId,
    ...(isSafeMethod(inbound.httpMethod) ? {} : { 'idempotency-key': executionId }),
  };
}
