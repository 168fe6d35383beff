// Determines which person a PATCH changed, from the adaptor's response or, failing that, from the request.

import type { ReceivedInbound } from '#lib/envelope/inbound.ts';
import { parseJsonObject } from '#lib/json/json-object.ts';
import type { BackEndResponse } from '#lib/envelope/outbound.ts';
import { decodeSegment } from '#lib/http/percent-encoding.ts';

/** The person that a PATCH changed. */
export interface PatchedPerson {
  /** The person's key in the college's own system. */
  sisPersonId: string;
  /** The statewide key; absent when neither the response nor the PATCH contains it. */
  cccid?: string;
}

/** Returns the person; null when neither the response nor the request names one. */
export function patchedPerson(inbound: ReceivedInbound, outbound: BackEndResponse): PatchedPerson | null {
  const record = parseJsonObject(outbound.body) ?? {};
  const patch = parseJsonObject(inbound.body) ?? {};
  const sisPersonId = textOf(record['sisPersonId']) ?? personOfPath(inbound.path) ?? textOf(patch['sisPersonId']);
  if (sisPersonId === undefined) return null;
  const cccid = textOf(record['cccid']) ?? textOf(patch['cccid']);
  return { sisPersonId, ...(cccid === undefined ? {} : { cccid }) };
}

function personOfPath(path: string): string | undefined {
  const segment = /\/persons\/([^/]+)\/?$/.exec(path)?.[1];
  return segment === undefined ? undefined : decodeSegment(segment);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
