// A static response: rendered once, compressed once, sent with validators (RFC 9110 section 8.8).

import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { headerRef } from '#lib/openapi/headers.ts';
import type { Responses } from '#lib/openapi/openapi.ts';
import { chooseCoding, type Coding, compressBody, isCompressible } from '../../gateway/plugin-api/content-coding.ts';

/** Content of a static response. */
export interface StaticContent {
  readonly contentType: string;
  readonly body: string | Buffer;
  /** How long a client may cache the response, in seconds. */
  readonly maxAgeSeconds: number;
  /** Additional header fields. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Variant {
  readonly body: Buffer;
  readonly etag: string;
}

/** Brotli quality: higher than for other responses, because a static response is compressed only once. */
const thoroughQuality = 6;
/** Bodies of up to this many bytes are not compressed, because compressing them does not pay off. */
const overBytes = 1_024;

/** A response for GET and HEAD whose body never changes. The body is compressed when a content coding is first used. */
export class StaticResponse {
  readonly #plain: Variant;
  readonly #tag: string;
  readonly #compressible: boolean;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #compressed = new Map<Coding, Promise<Variant>>();

  constructor({ contentType, body, maxAgeSeconds, headers = {} }: StaticContent) {
    const bytes = Buffer.from(body);
    this.#tag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
    this.#plain = { body: bytes, etag: `"${this.#tag}"` };
    this.#compressible = bytes.length > overBytes && isCompressible(contentType);
    this.#headers = {
      'content-type': contentType,
      'cache-control': `public, max-age=${maxAgeSeconds}`,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      ...headers,
    };
  }

  /**
   * Sends 200 with the body, or 304 when `If-None-Match` names the body in the same coding (RFC 9110 section 13.1.2).
   */
  async send(request: Request, response: Response): Promise<void> {
    const coding = this.#compressible ? chooseCoding(request) : undefined;
    const { body, etag } = coding === undefined ? this.#plain : await this.#variant(coding);
    for (const [name, value] of Object.entries(this.#headers)) response.setHeader(name, value);
    response.setHeader('etag', etag);
    if (this.#compressible) response.vary('accept-encoding');
    if (request.fresh) {
      response.removeHeader('content-type');
      response.writeHead(304).end();
      return;
    }
    if (coding !== undefined) response.setHeader('content-encoding', coding);
    response.writeHead(200, { 'content-length': body.length });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  /**
   * Returns the body in a coding. Each coding has its own entity tag, because the bytes differ (RFC 9110 section
   * 8.8.3).
   */
  #variant(coding: Coding): Promise<Variant> {
    const known = this.#compressed.get(coding);
    if (known !== undefined) return known;
    const compressed = compressBody(this.#plain.body, coding, thoroughQuality).then((body) => ({
      body,
      etag: `"${this.#tag}-${coding}"`,
    }));
    this.#compressed.set(coding, compressed);
    return compressed;
  }
}

/** Describes the responses of {@link StaticResponse} in OpenAPI terms. */
export function describeStatic(description: string, ...mediaTypes: readonly string[]): Responses {
  const headers = {
    'Cache-Control': headerRef('CacheControl'),
    ETag: headerRef('ETag'),
    'Content-Encoding': headerRef('ContentEncoding'),
    Vary: headerRef('Vary'),
  };
  return {
    200: { description, headers, content: Object.fromEntries(mediaTypes.map((type) => [type, {}])) },
    304: { description: 'Not modified: `If-None-Match` contains the current `ETag`.', headers },
  };
}
