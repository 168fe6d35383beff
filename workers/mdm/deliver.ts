// One JSON call to MDM or to an adaptor, where any 2xx means delivered.

import { BackEndFailure } from '../back-end/back-end-failure.ts';
import type { CallBackEnd } from '../back-end/call-back-end.ts';
import { TaskFailure } from '../task-failure.ts';
import { RetryableError } from './retryable-error.ts';

export interface Delivery {
  /** Who is called, as reasons and logs name it. */
  to: string;
  base: string;
  method: 'POST' | 'PATCH';
  path: string;
  body: unknown;
  requestId: string;
  /** The same for every try of one delivery. */
  idempotencyKey: string;
}

/** Statuses below 500 that another try may change. */
const transient = new Set([408, 425, 429]);

/**
 * Delivers and returns the answer's status and text.
 * @throws TryLater when the other side is away, busy or failing
 * @throws TaskFailure when it refuses: any other status but 2xx
 */
export async function deliver(callBackEnd: CallBackEnd, delivery: Delivery): Promise<{ status: number; text: string }> {
  const { to, base, method, path, requestId, idempotencyKey } = delivery;
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    'x-request-id': requestId,
    'idempotency-key': idempotencyKey,
  };
  const body = Buffer.from(JSON.stringify(delivery.body));
  const answer = await callBackEnd({ base, method, path, headers, body }).catch((error: unknown) => {
    if (error instanceof BackEndFailure) throw new RetryableError(`${to} is away: ${error.code}`, { cause: error });
    throw error;
  });
  const { status } = answer;
  if (status >= 500 || transient.has(status)) throw new RetryableError(`${to} answered ${status}`);
  if (status < 200 || status > 299) throw new TaskFailure(`${to} refused it with status ${status}`);
  return { status, text: answer.body.toString('utf8') };
}
