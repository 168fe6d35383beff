// Compresses back-end responses with br or gzip for clients that accept compression.
//
// When a response holds a secret next to text that an attacker chose, its compressed length reveals the secret
// (BREACH). Therefore, tokens are never compressed, nor are responses from the engine's API, which contain requests
// from several clients.

import { type Static, Type } from '#lib/json/json-schema.ts';
import { headerRef } from '#lib/openapi/headers.ts';
import type { HeaderFields } from '#lib/envelope/headers.ts';
import type { BackEndResponse } from '#lib/envelope/outbound.ts';
import type { Outcome } from './outcome.ts';
import { type Coding, compressBody, isCompressible, varyBy } from '../../../gateway/plugin-api/content-coding.ts';

/** Conditions under which responses are compressed. */
export interface CompressOptions {
  /** Bodies of up to this many bytes stay as they are. */
  readonly overBytes: number;
}

const defaultOverBytes = 1_024;

/** Schema of the parameter `compress` of policies that send responses from back ends. */
export const compressParameter = Type.Optional(
  Type.Union(
    [
      Type.Literal(false),
      Type.Object(
        {
          overBytes: Type.Optional(
            Type.Integer({
              minimum: 0,
              default: defaultOverBytes,
              description: 'size above which responses are compressed (bytes)',
            }),
          ),
        },
        { additionalProperties: false },
      ),
    ],
    {
      description:
        'compression of responses with br or gzip for clients that accept it, on by default; set `false` where responses contain both a secret and text that a client chose',
    },
  ),
);

/** Returns the options of the parameter; undefined when responses are not compressed. */
export function compressOptionsOf(
  parameter: Static<typeof compressParameter> | undefined,
): CompressOptions | undefined {
  return parameter === false ? undefined : { overBytes: defaultOverBytes, ...parameter };
}

/** Header fields of compressed responses, for the OpenAPI document. */
export const compressedHeaders = { 'Content-Encoding': headerRef('ContentEncoding'), Vary: headerRef('Vary') };

/** The request to which a response belongs. */
export interface CompressedRequest {
  readonly method: string;
  /** Result of `chooseCoding`: coding that the client accepts; undefined when it accepts none. */
  readonly coding: Coding | undefined;
}

/**
 * Returns the response, compressed if that makes it smaller. `Vary` names Accept-Encoding whenever the response could
 * have been compressed for another client.
 */
export async function compressResponse(
  response: BackEndResponse,
  { method, coding }: CompressedRequest,
  { overBytes }: CompressOptions,
): Promise<BackEndResponse> {
  const { headers, body } = response;
  if (method === 'HEAD' || body.length <= overBytes || !mayBeCompressed(response)) return response;
  const varied: HeaderFields = { ...headers, vary: varyBy(headers['vary'], 'Accept-Encoding') };
  if (coding === undefined) return { ...response, headers: varied };
  const compressed = await compressBody(body, coding);
  if (compressed.length >= body.length) return { ...response, headers: varied };
  return { ...response, headers: { ...varied, 'content-encoding': coding }, body: compressed };
}

/** Returns the outcome with its response compressed. @param options undefined when responses are not compressed */
export async function compressOutcome(
  outcome: Outcome,
  request: CompressedRequest,
  options: CompressOptions | undefined,
): Promise<Outcome> {
  if (outcome.kind !== 'response' || options === undefined) return outcome;
  return { ...outcome, response: await compressResponse(outcome.response, request, options) };
}

/**
 * Header fields that describe the exact bytes of the back end's body. A response with one of them is not compressed.
 */
const boundToBytes = ['content-encoding', 'content-range', 'content-digest', 'repr-digest', 'digest', 'content-md5'];

function mayBeCompressed({ status, headers }: BackEndResponse): boolean {
  if (status === 204 || status === 206 || status === 304) return false;
  if (boundToBytes.some((name) => headers[name] !== undefined)) return false;
  // Byte ranges of the back end would not match the compressed body.
  if (/\bbytes\b/i.test(textOf(headers['accept-ranges']))) return false;
  if (/\bno-transform\b/i.test(textOf(headers['cache-control']))) return false;
  // A weak ETag would be correct, but If-Match never matches a weak ETag (RFC 9110 section 13.1.1), so writes would
  // fail.
  if (headers['etag'] !== undefined && !textOf(headers['etag']).startsWith('W/')) return false;
  return isCompressible(textOf(headers['content-type']));
}

function textOf(value: string | string[] | undefined): string {
  return [value ?? ''].flat().join(', ');
}
