// What every intake does: hand the client's request to a back end, and complete the task with whatever it answers.

import type { Task } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';
import { pickHeaders, requestHeaderFilter, responseHeaderFilter } from '#lib/envelope/headers.ts';
import type { ReceivedInbound } from '#lib/envelope/inbound.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { receivedInbound } from './received-inbound.ts';
import { CodedFailure } from './task-failure.ts';
import type { TaskOutcome, WorkerDependencies } from './worker.ts';

/** Says which back end a request is for. @throws CodedFailure when none is */
export type BaseOf = (inbound: ReceivedInbound, config: Config) => string;

/** Makes the `execute` of an intake. */
export function createIntake(
  { config, callBackEnd }: WorkerDependencies,
  baseOf: BaseOf,
): (task: Task) => Promise<TaskOutcome> {
  const allowsRequest = requestHeaderFilter(config['router.requestHeaders']);
  const allowsResponse = responseHeaderFilter(config['router.responseHeaders']);
  const codec = createPayloadCodec(config);
  return async (task) => {
    const packed = task.inputData?.['inbound'];
    const inbound = receivedInbound(packed, codec, config);
    const answer = await callBackEnd({
      base: baseOf(inbound, config),
      method: inbound.httpMethod,
      path: inbound.path,
      query: inbound.query,
      headers: { ...pickHeaders(inbound.headers, allowsRequest), ...ownHeaders(inbound, task.workflowInstanceId) },
      body: inbound.body,
    });
    const answeredAt = new Date().toISOString();
    if (answer.status < 200 || answer.status > 599) {
      throw new CodedFailure('back-end-bad-answer', `the back end answered with the status ${answer.status}`);
    }
    const headers = pickHeaders(answer.headers, allowsResponse);
    const of = { inbound: packed, executionId: task.workflowInstanceId };
    const outbound = codec.packOutbound({ ...answer, headers }, of);
    return { status: 'COMPLETED', outputData: { outbound: writes(inbound) ? { ...outbound, answeredAt } : outbound } };
  };
}

/** The fields we add: who asks, and for a write the key by which a back end can tell a repetition. */
function ownHeaders(inbound: ReceivedInbound, executionId: string): Record<string, string> {
  return { 'x-request-id': inbound.requestId, ...(writes(inbound) ? { 'idempotency-key': executionId } : {}) };
}

function writes({ httpMethod }: ReceivedInbound): boolean {
  return httpMethod !== 'GET' && httpMethod !== 'HEAD';
}
