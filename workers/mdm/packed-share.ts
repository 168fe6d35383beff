// Packs a person's keys, which travel from mdm_notify to mdm_share through an event and a second workflow. They are
// encoded so that the engine does not alter them, and encrypted if the request was encrypted.

import type { Binding } from '#lib/envelope/encryption/jwe.ts';
import type { PackedText, PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { PayloadUnreadable } from '#lib/envelope/encryption/payload-unreadable.ts';
import { unreadablePayload } from '../received-inbound.ts';
import { TaskFailure } from '../task-failure.ts';
import type { InterestedSystem } from './interested-systems.ts';

/** Fields that identify the person. The MIS code selects the event and the task domain, and is not encrypted. */
type PersonalField = 'sisPersonId' | 'cccid';

/** An interested system with its personal fields packed. */
export type PackedSystem = Pick<InterestedSystem, 'misCode'> & Record<PersonalField, PackedText>;

/**
 * Packs one system for the output of mdm_notify.
 * @param patch execution id of the PATCH, and its request as read from the engine
 */
export function packSystem(
  { misCode, ...system }: InterestedSystem,
  { executionId, inbound }: { executionId: string; inbound: unknown },
  codec: PayloadCodec,
): PackedSystem {
  const pack = (field: PersonalField) =>
    codec.packText(system[field], { binding: bindField(field, executionId, misCode), inbound });
  return { misCode, sisPersonId: pack('sisPersonId'), cccid: pack('cccid') };
}

/**
 * Unpacks the system in the input of mdm_share.
 * @throws CodedFailure `payload-unreadable` when it cannot be decrypted
 * @throws TaskFailure when a field is missing, or is malformed JSON-escaped text
 */
export function unpackShare<T extends PackedSystem & { sourceExecutionId: string }>(
  input: T,
  codec: PayloadCodec,
): T & InterestedSystem {
  try {
    const { misCode, sourceExecutionId } = input;
    requireText({ misCode, sourceExecutionId });
    const open = (field: PersonalField) => codec.unpackText(input[field], bindField(field, sourceExecutionId, misCode));
    const person = { sisPersonId: open('sisPersonId'), cccid: open('cccid') };
    requireText(person);
    return { ...input, ...person };
  } catch (error) {
    if (error instanceof PayloadUnreadable) throw unreadablePayload('the share', error);
    if (error instanceof TypeError)
      throw new TaskFailure(`the share cannot be read: ${error.message}`, { cause: error });
    throw error;
  }
}

/**
 * Checks that each field is set. Without this check, the worker would patch a person called `undefined` when the
 * workflow passes no value.
 */
function requireText<T extends string>(fields: Record<T, unknown>): asserts fields is Record<T, string> {
  for (const [name, value] of Object.entries(fields))
    if (typeof value !== 'string' || value === '') throw new TypeError(`${name} is missing, empty or not a string`);
}

function bindField(field: PersonalField, executionId: string, misCode: string): Binding {
  return { contentType: field, subject: `${executionId}/${misCode}` };
}
