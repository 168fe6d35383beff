// Encodes and decodes `outbound`, the back end's response in a workflow's output.

import { type EncodedBody, decodeBody, encodeBody } from './body.ts';
import { escapeExpressions, hasExpression, mapStrings, unescapeExpressions } from './expressions.ts';
import type { HeaderFields } from './headers.ts';

/** The response from the back end. `docs/reference/envelope.md` describes it for workers in other languages. */
export interface Outbound extends EncodedBody {
  /** HTTP status of the back end, 200 to 599. */
  statusCodeValue: number;
  headers: HeaderFields;
  /**
   * Time of the response to a write (RFC 3339, the worker's clock). MDM orders the changes of a person by this time.
   */
  answeredAt?: string;
  /** Present when `headers` are escaped (see expressions.ts). */
  escaped?: true;
}

/** A decoded response from a back end. */
export interface BackEndResponse {
  status: number;
  headers: HeaderFields;
  body: Buffer;
}

/** Encodes a response as `outbound`: the body with `encodeBody`, and header fields with `${` escaped. */
export function createOutbound(response: { status: number; headers: HeaderFields; body: Uint8Array }): Outbound {
  const escape = hasExpression(JSON.stringify(response.headers));
  return {
    statusCodeValue: response.status,
    headers: escape ? mapStrings(response.headers, escapeExpressions) : response.headers,
    ...encodeBody(response.body),
    ...(escape ? { escaped: true as const } : {}),
  };
}

/**
 * Decodes the `outbound` of a workflow's output.
 * @param maxBodyBytes maximum size of the decoded body; default: unlimited
 * @throws TypeError when the value has no status between 200 and 599, RangeError when the body is larger than the limit
 */
export function readOutbound(value: unknown, maxBodyBytes?: number): BackEndResponse {
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
