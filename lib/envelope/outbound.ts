// `outbound`: the back end's answer as it travels back to the client, in the workflow's output.

import { type EncodedBody, decodeBody, encodeBody } from './body.ts';
import { escapeExpressions, hasExpression, mapStrings, unescapeExpressions } from './expressions.ts';
import type { HeaderFields } from './headers.ts';

/** The answer of the back end. `docs/envelope.md` describes it for workers in other languages. */
export interface Outbound extends EncodedBody {
  /** The back end's own status, 200 to 599. */
  statusCodeValue: number;
  headers: HeaderFields;
  /** When the back end answered a write (RFC 3339, the worker's clock): MDM orders the changes of a person by it. */
  answeredAt?: string;
  /** Present when `headers` are escaped (see expressions.ts). */
  escaped?: true;
}

/** The answer unpacked. */
export interface Answer {
  status: number;
  headers: HeaderFields;
  body: Buffer;
}

/** Packs an answer for the engine. */
export function createOutbound(answer: { status: number; headers: HeaderFields; body: Uint8Array }): Outbound {
  const escape = hasExpression(JSON.stringify(answer.headers));
  return {
    statusCodeValue: answer.status,
    headers: escape ? mapStrings(answer.headers, escapeExpressions) : answer.headers,
    ...encodeBody(answer.body),
    ...(escape ? { escaped: true as const } : {}),
  };
}

/**
 * Unpacks the `outbound` of a workflow's output.
 * @throws TypeError when it is none: no status between 200 and 599
 */
export function readOutbound(value: unknown, maxBodyBytes?: number): Answer {
  const outbound = value as Outbound | null | undefined;
  const status = outbound?.statusCodeValue;
  if (!outbound || !Number.isInteger(status) || Number(status) < 200 || Number(status) > 599) {
    throw new TypeError('the workflow output has no `outbound` with a statusCodeValue between 200 and 599');
  }
  const headers = outbound.headers ?? {};
  return {
    status: Number(status),
    headers: outbound.escaped ? mapStrings(headers, unescapeExpressions) : headers,
    body: decodeBody(outbound, maxBodyBytes),
  };
}
