// `inbound`: the client's request as the workflow's input carries it.

import { type EncodedBody, decodeBody, encodeBody } from './body.ts';
import { escapeExpressions, hasExpression, mapStrings, unescapeExpressions } from './expressions.ts';
import type { HeaderFields } from './headers.ts';

/** The request for the back end. `docs/reference/envelope.md` describes it for workers in other languages. */
export interface Inbound extends EncodedBody {
  /** Upper case. */
  httpMethod: string;
  /** Path below the back end's base URL, percent-encoded exactly as the client sent it; empty, or begins with `/`. */
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

/** `route` of the reconciler's own requests. Clients cannot set a route: it comes from the gateway configuration. */
export const reconcilerRoute = 'reconciler';

/** A request in the router, before it is encoded. */
export interface InboundRequest extends Omit<Inbound, 'body' | 'bodyEncoding' | 'escaped' | 'query'> {
  query: string | undefined;
  body: Uint8Array;
}

/** A decoded request in a worker: not escaped, the body as bytes. */
export interface ReceivedInbound extends Omit<Inbound, 'body' | 'bodyEncoding' | 'escaped'> {
  body: Buffer;
}

type ClientFields = Pick<Inbound, 'path' | 'query' | 'params' | 'headers'>;

/** Encodes a request as `inbound`: the body by `encodeBody`, texts with `${` escaped. */
export function createInbound({ body, query, ...request }: InboundRequest): Inbound {
  const inbound: Inbound = { ...request, ...(query === undefined ? {} : { query }) };
  return { ...escapeClientFields(inbound), ...encodeBody(body) };
}

/**
 * Decodes a request in a worker.
 * @param maxBodyBytes limit of the decoded body; default: none
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

/** Returns the fields that `escaped` concerns. */
function clientFieldsOf({ path, query, params, headers }: ClientFields): ClientFields {
  return { path, params, headers, ...(query === undefined ? {} : { query }) };
}

function escapeClientFields(inbound: Inbound): Inbound {
  const clientFields = clientFieldsOf(inbound);
  if (!hasExpression(JSON.stringify(clientFields))) return inbound;
  return { ...inbound, ...mapStrings(clientFields, escapeExpressions), escaped: true };
}
