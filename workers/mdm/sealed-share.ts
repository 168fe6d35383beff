// A person's keys on their way from mdm_notify to mdm_share: through an event and a second workflow, encrypted when the request was.

import type { Binding } from '../../payload/jwe.ts';
import type { PayloadCodec } from '../../payload/payload-codec.ts';
import { PayloadUnreadable } from '../../payload/payload-unreadable.ts';
import { unreadable } from '../received-inbound.ts';
import type { InterestedSystem } from './interested-systems.ts';

/** What says who it is. The MIS code, which chooses event and task domain, stays in clear. */
type PersonalField = 'sisPersonId' | 'cccid';

/** One system for the output of mdm_notify. @param executionId the execution of the PATCH */
export function sealSystem(system: InterestedSystem, executionId: string, codec: PayloadCodec): object {
  const pack = (field: PersonalField) => codec.packText(system[field], bindField(field, executionId, system.misCode));
  return { misCode: system.misCode, sisPersonId: pack('sisPersonId'), cccid: pack('cccid') };
}

/**
 * The same system in the input of mdm_share; what is in clear stays as it is.
 * @throws CodedFailure `payload-unreadable`
 */
export function openShare<T extends InterestedSystem & { sourceExecutionId: string }>(
  input: T,
  codec: PayloadCodec,
): T {
  try {
    const open = (field: PersonalField) =>
      codec.unpackText(input[field], bindField(field, input.sourceExecutionId, input.misCode));
    return { ...input, sisPersonId: open('sisPersonId'), cccid: open('cccid') };
  } catch (error) {
    if (error instanceof PayloadUnreadable) throw unreadable('the share', error);
    throw error;
  }
}

function bindField(field: PersonalField, executionId: string, misCode: string): Binding {
  return { contentType: field, subject: `${executionId}/${misCode}` };
}
