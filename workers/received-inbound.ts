// Unpacks the client's request from a task's input. Invalid input fails the task with a reason instead of an unexpected
// error.

import type { Config } from '#lib/config/schema.ts';
import type { ReceivedInbound } from '#lib/envelope/inbound.ts';
import type { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { PayloadUnreadable } from '#lib/envelope/encryption/payload-unreadable.ts';
import { CodedFailure, TaskFailure } from './task-failure.ts';

/**
 * Returns the client's request, decoded and decrypted.
 * @throws TaskFailure when the value is not a valid `inbound`, or its body is larger than `router.maxBodyBytes`
 * @throws CodedFailure `payload-unreadable` when it cannot be decrypted
 */
export function receivedInbound(value: unknown, codec: PayloadCodec, config: Config): ReceivedInbound {
  try {
    const inbound = codec.unpackInbound(value, config['router.maxBodyBytes']);
    return { ...inbound, params: inbound.params ?? {}, headers: inbound.headers ?? {} };
  } catch (error) {
    if (error instanceof PayloadUnreadable) throw unreadablePayload('the request', error);
    const text = error instanceof TypeError ? error.message : 'the body of the `inbound` cannot be read';
    throw new TaskFailure(text, { cause: error });
  }
}

/** Creates the failure of a task whose input cannot be decrypted. @param what name of the input in the message */
export function unreadablePayload(what: string, cause: PayloadUnreadable): CodedFailure {
  return new CodedFailure('payload-unreadable', `${what} cannot be read: ${cause.message}`, { cause });
}
