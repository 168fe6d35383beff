// The common part of workers that respond to a client's request: unpacks the request and packs the response.

import type { Task } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';
import { pickHeaders, responseHeaderFilter } from '#lib/envelope/headers.ts';
import type { ReceivedInbound } from '#lib/envelope/inbound.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import type { BackEndResponse } from './back-end/call-back-end.ts';
import { receivedInbound } from './received-inbound.ts';
import { CodedFailure } from './task-failure.ts';
import type { TaskOutcome } from './worker.ts';

/**
 * Returns the response to a request: a status from 200 to 599, headers, and the bytes of the body.
 * @throws TaskFailure or CodedFailure when there is no response
 */
export type Respond = (inbound: ReceivedInbound, task: Task) => Promise<BackEndResponse>;

/**
 * Creates the `execute` function of a worker whose input contains a client's request (`inbound`) and whose output
 * contains the response (`outbound`). Headers are filtered by the allow-list for responses; payloads are encrypted as
 * configured.
 */
export function createResponder(config: Config, respond: Respond): (task: Task) => Promise<TaskOutcome> {
  const allows = responseHeaderFilter(config['router.responseHeaders']);
  const codec = createPayloadCodec(config);
  return async (task) => {
    const packed = task.inputData?.['inbound'];
    const inbound = receivedInbound(packed, codec, config);
    const response = await respond(inbound, task);
    const answeredAt = new Date().toISOString();
    if (response.status < 200 || response.status > 599) {
      throw new CodedFailure(
        'back-end-bad-answer',
        `the back end responded with status ${response.status}, which is not between 200 and 599`,
      );
    }
    const binding = { inbound: packed, executionId: task.workflowInstanceId };
    const outbound = codec.packOutbound({ ...response, headers: pickHeaders(response.headers, allows) }, binding);
    return {
      status: 'COMPLETED',
      outputData: { outbound: isSafeMethod(inbound.httpMethod) ? outbound : { ...outbound, answeredAt } },
    };
  };
}
