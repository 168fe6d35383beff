// The client's request out of a task's input; what is no request ends the task with a reason, not as a bug.

import type { Config } from '#lib/config/schema.ts';
import type { ReceivedInbound } from '#lib/envelope/inbound.ts';
import type { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { PayloadUnreadable } from '#lib/envelope/encryption/payload-unreadable.ts';
import { CodedFailure, TaskFailure } from './task-failure.ts';

/**
 * @throws TaskFailure when the value is no `inbound`, or its body is larger than `router.maxBodyBytes`
 * @throws CodedFailure `payload-unreadable` when it cannot be decrypted
 */
export function receivedInbound(value: unknown, codec: PayloadCodec, config: Config): ReceivedInbound {
  try {
    const inbound = codec.unpackInbound(value, config['router.maxBodyBytes']);
    return { ...inbound, params: inbound.params ?? {}, headers: inbound.headers ?? {} };
  } catch (error) {
    if (error instanceof PayloadUnreadable) throw unreadable('the request', error);
    const text = error instanceof TypeError ? error.message : 'the body of the `inbound` cannot be read';
    throw new TaskFailure(text, { cause: error });
  }
}

/** What ends a task whose input this process has no key for. @param what names the input */
export function unreadable(what: string, cause: PayloadUnreadable): CodedFailure {
  return new CodedFailure('payload-unreadable', `${what} cannot be read: ${cause.message}`, { cause });
}
