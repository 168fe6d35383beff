// Sends one JSON request to MDM or to an adaptor. Any 2xx status means that the request was delivered.

import { isRetryableStatus } from '#lib/http/statuses.ts';
import { parseJsonObject } from '#lib/json/json-object.ts';
import { BackEndFailure } from '../back-end/back-end-failure.ts';
import { readableBody } from '#lib/http/readable-body.ts';
import type { BackEndResponse, CallBackEnd } from '../back-end/call-back-end.ts';
import { TaskFailure } from '../task-failure.ts';
import type { WorkerDependencies } from '../worker.ts';
import { RetryableError } from './retryable-error.ts';

/** One request to MDM or to an adaptor. */
export interface Delivery {
  /** Name of the called system, for reasons and log lines. */
  recipient: string;
  base: string;
  method: 'POST' | 'PATCH';
  path: string;
  body: unknown;
  requestId: string;
  /** The same for every attempt of one delivery. */
  idempotencyKey: string;
}

/**
 * Sends a POST to MDM and returns the JSON object in the response; an empty object when there is no body, null when the
 * body is not a JSON object.
 * @throws RetryableError or TaskFailure, as {@link deliver} does
 */
export async function postToMdm(
  { config, callBackEnd }: WorkerDependencies,
  request: Pick<Delivery, 'path' | 'body' | 'requestId' | 'idempotencyKey'>,
): Promise<Record<string, unknown> | null> {
  const base = config['mdm.url'] as string;
  const response = await deliver(callBackEnd, { recipient: 'MDM', base, method: 'POST', ...request });
  const body = readableBody(response, config['router.maxResponseBytes']);
  return body.length === 0 ? {} : parseJsonObject(body);
}

/**
 * Sends the request and returns the response.
 * @throws RetryableError when the called system is unavailable or busy, or responds with 5xx
 * @throws TaskFailure for any other status outside 2xx
 */
export async function deliver(callBackEnd: CallBackEnd, delivery: Delivery): Promise<BackEndResponse> {
  const { recipient, base, method, path, requestId, idempotencyKey } = delivery;
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    'x-request-id': requestId,
    'idempotency-key': idempotencyKey,
  };
  const body = Buffer.from(JSON.stringify(delivery.body));
  const response = await callBackEnd({ base, method, path, headers, body }).catch((error: unknown) => {
    if (error instanceof BackEndFailure)
      throw new RetryableError(`${recipient} is unavailable: ${error.code}`, { cause: error });
    throw error;
  });
  const { status } = response;
  if (isRetryableStatus(status)) throw new RetryableError(`${recipient} responded with status ${status}`);
  if (status < 200 || status > 299) throw new TaskFailure(`${recipient} rejected the request with status ${status}`);
  return response;
}
