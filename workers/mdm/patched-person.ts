// Whom a PATCH was about, read from the adaptor's answer or, where that says nothing, from the request.

import type { ReceivedInbound } from '#lib/envelope/inbound.ts';
import type { Answer } from '#lib/envelope/outbound.ts';

export interface PatchedPerson {
  /** The person's key in the college's own system. */
  sisPersonId: string;
  /** The statewide key; absent when the PATCH was not about it and the answer has no record. */
  cccid?: string;
}

/** The person, or null when neither side names one. */
export function patchedPerson(inbound: ReceivedInbound, outbound: Answer): PatchedPerson | null {
  const record = parseObject(outbound.body);
  const patch = parseObject(inbound.body);
  const sisPersonId = textOf(record['sisPersonId']) ?? personOfPath(inbound.path) ?? textOf(patch['sisPersonId']);
  if (sisPersonId === undefined) return null;
  const cccid = textOf(record['cccid']) ?? textOf(patch['cccid']);
  return { sisPersonId, ...(cccid === undefined ? {} : { cccid }) };
}

/** Numbers keep the digits they were written with: JSON.parse would round a long key. */
type ExactParse = (
  text: string,
  reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown;

/** The members of a JSON object; none when the bytes are something else. */
export function parseObject(bytes: Buffer | string): Record<string, unknown> {
  try {
    const value = (JSON.parse as ExactParse)(bytes.toString(), (_key, member, { source }) =>
      typeof member === 'number' ? (source ?? String(member)) : member,
    );
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

function personOfPath(path: string): string | undefined {
  const segment = /\/persons\/([^/]+)\/?$/.exec(path)?.[1];
  if (segment === undefined) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
