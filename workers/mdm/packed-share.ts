// A person's keys on their way from mdm_notify to mdm_share, through an event and a second workflow: in a form that the engine
// keeps, and encrypted when the request was.

import type { Binding } from '#lib/envelope/encryption/jwe.ts';
import type { PackedText, PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { PayloadUnreadable } from '#lib/envelope/encryption/payload-unreadable.ts';
import { unreadable } from '../received-inbound.ts';
import { TaskFailure } from '../task-failure.ts';
import type { InterestedSystem } from './interested-systems.ts';

/** What says who it is. The MIS code, which chooses event and task domain, stays in clear. */
type PersonalField = 'sisPersonId' | 'cccid';

/** An interested system as it travels. */
export type PackedSystem = Pick<InterestedSystem, 'misCode'> & Record<PersonalField, PackedText>;

/**
 * One system for the output of mdm_notify.
 * @param patch the PATCH: the execution of it, and its request as it came out of the engine
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
 * The same system in the input of mdm_share.
 * @throws CodedFailure `payload-unreadable`
 */
export function unpackShare<T extends PackedSystem & { sourceExecutionId: string }>(
  input: T,
  codec: PayloadCodec,
): T & InterestedSystem {
  try {
    const open = (field: PersonalField) =>
      codec.unpackText(input[field], bindField(field, input.sourceExecutionId, input.misCode));
    return { ...input, sisPersonId: open('sisPersonId'), cccid: open('cccid') };
  } catch (error) {
    if (error instanceof PayloadUnreadable) throw unreadable('the share', error);
    if (error instanceof TypeError)
      throw new TaskFailure(`the share cannot be read: ${error.message}`, { cause: error });
    throw error;
  }
}

function bindField(field: PersonalField, executionId: string, misCode: string): Binding {
  return { contentType: field, subject: `${executionId}/${misCode}` };
}
