// The worker of task type mdm_notify: notifies MDM of one patched person and returns the interested systems.

import type { Task } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';
import type { ReceivedInbound } from '#lib/envelope/inbound.ts';
import type { BackEndResponse } from '#lib/envelope/outbound.ts';
import { readableBody } from '#lib/http/readable-body.ts';
import { encodeText } from '#lib/envelope/text.ts';
import { createPayloadCodec, type PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { PayloadUnreadable } from '#lib/envelope/encryption/payload-unreadable.ts';
import { postToMdm } from './mdm/deliver.ts';
import { readInterestedSystems } from './mdm/interested-systems.ts';
import { patchedPerson } from './mdm/patched-person.ts';
import { packSystem } from './mdm/packed-share.ts';
import { RetryableError, retryUntilDelivered } from './mdm/retryable-error.ts';
import { receivedInbound, unreadablePayload } from './received-inbound.ts';
import type { TaskOutcome, Worker, WorkerDependencies } from './worker.ts';

/** Input of the task from mdmWF. */
interface NotifyInput {
  mis: string;
  inbound: unknown;
  outbound: unknown;
  requestId: string;
  /** Execution id of the PATCH. */
  executionId: string;
}

/** The outcome for a PATCH of anything but a person: MDM is not notified, and the workflow completes. */
const nothingToShare: TaskOutcome = {
  status: 'COMPLETED',
  outputData: {
    notificationId: null,
    interestedSystems: [],
    reason: 'nothing to share: neither the response nor the request names a person',
  },
};

/** Creates the worker that notifies MDM of a PATCH. Requires `mdm.url`. */
export function createMdmNotify(dependencies: WorkerDependencies): Worker {
  const { config } = dependencies;
  const codec = createPayloadCodec(config);
  const notify = async (task: Task): Promise<TaskOutcome> => {
    const { mis, requestId, executionId, ...input } = task.inputData as unknown as NotifyInput;
    const inbound = readable(receivedInbound(input.inbound, codec, config), config['router.maxBodyBytes']);
    const received = receivedOutbound(input.outbound, executionId, { codec, config });
    const outbound = readable(received, config['router.maxResponseBytes']);
    const person = patchedPerson(inbound, outbound);
    if (person === null) return nothingToShare;
    const response = await postToMdm(dependencies, {
      path: '/notifications',
      body: {
        misCode: mis,
        ...person,
        requestId,
        executionId,
        ...changeTimeOf(input.outbound),
        request: requestOf(inbound),
      },
      requestId,
      // The execution id of the PATCH, not of this workflow: a workflow that is started twice causes only one
      // notification.
      idempotencyKey: executionId,
    });
    // If a response that is not a JSON object counted as an empty object, no system would appear to be interested.
    if (response === null) throw new RetryableError('the response from MDM is not a JSON object');
    const { notificationId, interestedSystems } = response;
    const systems = readInterestedSystems(interestedSystems, person.cccid);
    return {
      status: 'COMPLETED',
      outputData: {
        notificationId: typeof notificationId === 'string' ? encodeText(notificationId) : null,
        interestedSystems: systems.map((system) => packSystem(system, { ...input, executionId }, codec)),
      },
    };
  };
  return { taskDefName: 'mdm_notify', execute: (task) => retryUntilDelivered(task, config, () => notify(task)) };
}

/**
 * Returns the time of the change, if known. MDM receives notifications in any order and finds the newest by
 * `changedAt`. Intake workers that do not come from this project may omit `answeredAt`.
 */
function changeTimeOf(outbound: unknown): { changedAt?: string } {
  const { answeredAt } = (outbound ?? {}) as { answeredAt?: unknown };
  return typeof answeredAt === 'string' && !Number.isNaN(Date.parse(answeredAt)) ? { changedAt: answeredAt } : {};
}

/** Returns the message with a body that this worker and MDM can parse. */
function readable<T extends ReceivedInbound | BackEndResponse>(message: T, maxBytes: number): T {
  return { ...message, body: readableBody(message, maxBytes) };
}

/** Returns the response to the PATCH. @throws CodedFailure `payload-unreadable` when it cannot be decrypted */
function receivedOutbound(
  value: unknown,
  executionId: string,
  { codec, config }: { codec: PayloadCodec; config: Config },
): BackEndResponse {
  try {
    return codec.unpackOutbound(value, executionId, { maxBodyBytes: config['router.maxResponseBytes'] });
  } catch (error) {
    if (error instanceof PayloadUnreadable) throw unreadablePayload('the response', error);
    throw error;
  }
}

/** Describes the PATCH for MDM. A body in UTF-8 is sent as text, any other body as base64. */
function requestOf({ httpMethod, path, query, headers, body }: ReceivedInbound): Record<string, unknown> {
  const isText = body.equals(Buffer.from(body.toString('utf8')));
  return {
    httpMethod,
    path,
    ...(query === undefined ? {} : { query }),
    ...(headers['content-type'] === undefined ? {} : { contentType: headers['content-type'] }),
    ...(isText ? { body: body.toString('utf8') } : { body: body.toString('base64'), bodyEncoding: 'base64' }),
  };
}
