// `inbound`: the client's request as it travels to the worker, in the workflow's input.

import { type EncodedBody, decodeBody, encodeBody } from './body.ts';
import { escapeExpressions, hasExpression, mapStrings, unescapeExpressions } from './expressions.ts';
import type { HeaderFields } from './headers.ts';

/** The request for the back end. `docs/envelope.md` describes it for workers in other languages. */
export interface Inbound extends EncodedBody {
  /** Upper case. */
  httpMethod: string;
  /** Path below the back end's base, percent-encoded exactly as the client sent it; begins with `/`. */
  path: string;
  /** Query without its `?`, exactly as sent; absent when the client sent none. */
  query?: string;
  /** Path parameters of the route, decoded: `mis`, `college_id`, `title`. */
  params: Record<string, string>;
  headers: HeaderFields;
  /** The answer's `X-Request-Id`. */
  requestId: string;
  /** The OAuth client that asked. */
  clientId: string;
  /** Name of the pipeline in gateway.config.yml. */
  route: string;
  /** The trace that the request belongs to (W3C Trace Context); absent while tracing is off. */
  traceparent?: string;
  /** Present when `path`, `query`, `params` or `headers` are escaped (see expressions.ts). */
  escaped?: true;
}

/** `route` of what the reconciler asks a back end by itself. Clients cannot choose a route: it comes from the map. */
export const reconcilerRoute = 'reconciler';

/** What the router knows of a request. */
export interface InboundRequest extends Omit<Inbound, 'body' | 'bodyEncoding' | 'escaped' | 'query'> {
  query: string | undefined;
  body: Uint8Array;
}

/** The request as a worker reads it: nothing escaped, the body as bytes. */
export interface ReceivedInbound extends Omit<Inbound, 'body' | 'bodyEncoding' | 'escaped'> {
  body: Buffer;
}

/** Packs a request for the engine. */
export function createInbound({ body, query, ...request }: InboundRequest): Inbound {
  const inbound: Inbound = { ...request, ...(query === undefined ? {} : { query }) };
  return { ...escapeClientFields(inbound), ...encodeBody(body) };
}

/**
 * Unpacks a request in a worker.
 * @throws TypeError when the task's input is not an `inbound`
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
  return { ...(escaped ? mapStrings(fields, unescapeExpressions) : fields), body: decodeBody(encoded, maxBodyBytes) };
}

function escapeClientFields(inbound: Inbound): Inbound {
  const { path, query, params, headers } = inbound;
  const clientFields = { path, params, headers, ...(query === undefined ? {} : { query }) };
  if (!hasExpression(JSON.stringify(clientFields))) return inbound;
  return { ...inbound, ...mapStrings(clientFields, escapeExpressions), escaped: true };
}
