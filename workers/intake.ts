// The common part of the intake workers: sends the client's request to a back end and returns the response as output.

import type { Task } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';
import { pickHeaders, requestHeaderFilter, responseHeaderFilter } from '#lib/envelope/headers.ts';
import type { ReceivedInbound } from '#lib/envelope/inbound.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import { receivedInbound } from './received-inbound.ts';
import { CodedFailure } from './task-failure.ts';
import type { TaskOutcome, WorkerDependencies } from './worker.ts';

/** Returns the base URL of the back end for a request. @throws CodedFailure when there is none */
export type SelectBaseUrl = (inbound: ReceivedInbound, config: Config) => string;

/** Creates the `execute` function of an intake worker. */
export function createIntake(
  { config, callBackEnd }: WorkerDependencies,
  selectBaseUrl: SelectBaseUrl,
): (task: Task) => Promise<TaskOutcome> {
  const allowsRequest = requestHeaderFilter(config['router.requestHeaders']);
  const allowsResponse = responseHeaderFilter(config['router.responseHeaders']);
  const codec = createPayloadCodec(config);
  return async (task) => {
    const packed = task.inputData?.['inbound'];
    const inbound = receivedInbound(packed, codec, config);
    const response = await callBackEnd({
      base: selectBaseUrl(inbound, config),
      method: inbound.httpMethod,
      path: inbound.path,
      query: inbound.query,
      headers: { ...pickHeaders(inbound.headers, allowsRequest), ...addedHeaders(inbound, task.workflowInstanceId) },
      body: inbound.body,
    });
    const answeredAt = new Date().toISOString();
    if (response.status < 200 || response.status > 599) {
      throw new CodedFailure('back-end-bad-answer', `the back end responded with status ${response.status}`);
    }
    const headers = pickHeaders(response.headers, allowsResponse);
    const binding = { inbound: packed, executionId: task.workflowInstanceId };
    const outbound = codec.packOutbound({ ...response, headers }, binding);
    return {
      status: 'COMPLETED',
      outputData: { outbound: isSafeMethod(inbound.httpMethod) ? outbound : { ...outbound, answeredAt } },
    };
  };
}

/** Headers that the worker adds: the request id and, for a write, the key by which a back end detects a repetition. */
function addedHeaders(inbound: ReceivedInbound, executionId: string): Record<string, string> {
  return {
    'x-request-id': inbound.requestId,
    ...(isSafeMethod(inbound.httpMethod) ? {} : { 'idempotency-key': executionId }),
  };
}
