// Encodes and decodes `inbound`, the client's request in a workflow's input.

import { type EncodedBody, decodeBody, encodeBody } from './body.ts';
import { escapeExpressions, hasExpression, mapStrings, unescapeExpressions } from './expressions.ts';
import type { HeaderFields } from './headers.ts';

/** The request for the back end. `docs/reference/envelope.md` describes it for workers in other languages. */
export interface Inbound extends EncodedBody {
  /** Method in upper case. */
  httpMethod: string;
  /** Path below the back end's base URL, percent-encoded exactly as the client sent it; empty or beginning with `/`. */
  path: string;
  /** Query without `?`, exactly as the client sent it; absent when there is none. */
  query?: string;
  /** Path parameters of the route, decoded: `mis`, `college_id`, `title`. */
  params: Record<string, string>;
  headers: HeaderFields;
  /** `X-Request-Id` of the response. */
  requestId: string;
  /** OAuth client id of the caller. */
  clientId: string;
  /** Name of the apiEndpoint in gateway.config.yml. */
  route: string;
  /** Trace of the request (W3C Trace Context); absent when tracing is off. */
  traceparent?: string;
  /** Present when `path`, `query`, `params` or `headers` are escaped (see expressions.ts). */
  escaped?: true;
}

/**
 * Value of `route` in the reconciler's own requests. Clients cannot set this field: it comes from the gateway
 * configuration.
 */
export const reconcilerRoute = 'reconciler';

/** A request in the router before encoding. */
export interface InboundRequest extends Omit<Inbound, 'body' | 'bodyEncoding' | 'escaped' | 'query'> {
  query: string | undefined;
  body: Uint8Array;
}

/** A decoded request in a worker: unescaped, with the body as bytes. */
export interface ReceivedInbound extends Omit<Inbound, 'body' | 'bodyEncoding' | 'escaped'> {
  body: Buffer;
}

type ClientFields = Pick<Inbound, 'path' | 'query' | 'params' | 'headers'>;

/** Encodes a request as `inbound`: the body with `encodeBody`, and strings with `${` escaped. */
export function createInbound({ body, query, ...request }: InboundRequest): Inbound {
  const inbound: Inbound = { ...request, ...(query === undefined ? {} : { query }) };
  return { ...escapeClientFields(inbound), ...encodeBody(body) };
}

/**
 * Decodes a request in a worker.
 * @param maxBodyBytes maximum size of the decoded body; default: unlimited
 * @throws TypeError when the value is not an `inbound`, RangeError when the body is larger than the limit
 */
export function readInbound(value: unknown, maxBodyBytes?: number): ReceivedInbound {
  const inbound = value as Inbound | null | undefined;
  if (typeof inbound?.httpMethod !== 'string' || typeof inbound.path !== 'string') {
    throw new TypeError(
      'the task input has no `inbound` with httpMethod and path: start the workflow through the router',
    );
  }
  const { body, bodyEncoding, escaped, ...fields } = inbound;
  const encoded: EncodedBody = body === undefined ? {} : { body, bodyEncoding: bodyEncoding ?? 'text' };
  const decoded = { ...fields, body: decodeBody(encoded, maxBodyBytes) };
  return escaped ? { ...decoded, ...mapStrings(clientFieldsOf(fields), unescapeExpressions) } : decoded;
}

/** Returns the fields to which `escaped` applies. */
function clientFieldsOf({ path, query, params, headers }: ClientFields): ClientFields {
  return { path, params, headers, ...(query === undefined ? {} : { query }) };
}

function escapeClientFields(inbound: Inbound): Inbound {
  const clientFields = clientFieldsOf(inbound);
  if (!hasExpression(JSON.stringify(clientFields))) return inbound;
  return { ...inbound, ...mapStrings(clientFields, escapeExpressions), escaped: true };
}
