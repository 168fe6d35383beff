// An answer that is the same for everybody: made once, compressed once, sent with validators (RFC 9110 section 8.8).

import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { headerRef } from '#lib/openapi/headers.ts';
import type { Responses } from '#lib/openapi/openapi.ts';
import { chooseCoding, type Coding, compressBody, isCompressible } from '../../gateway/plugin-api/content-coding.ts';

export interface StaticContent {
  readonly contentType: string;
  readonly body: string | Buffer;
  /** How long a client may use it without asking again. */
  readonly maxAgeSeconds: number;
  /** More header fields. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Variant {
  readonly body: Buffer;
  readonly etag: string;
}

/** Of brotli: what is compressed once may take a moment. */
const thoroughQuality = 6;
/** Smaller bodies gain nothing from being compressed. */
const overBytes = 1_024;

export class StaticAnswer {
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

  /** GET and HEAD. 304 when the client has it already (section 13.1.2). */
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

  /** Each coding has an entity tag of its own (section 8.8.3): the bytes differ. */
  #variant(coding: Coding): Promise<Variant> {
    const known = this.#compressed.get(coding);
    if (known !== undefined) return known;
    const made = compressBody(this.#plain.body, coding, thoroughQuality).then((body) => ({
      body,
      etag: `"${this.#tag}-${coding}"`,
    }));
    this.#compressed.set(coding, made);
    return made;
  }
}

/** The answers of {@link StaticAnswer} as the OpenAPI document describes them. */
export function describeStatic(description: string, ...mediaTypes: readonly string[]): Responses {
  const headers = {
    'Cache-Control': headerRef('CacheControl'),
    ETag: headerRef('ETag'),
    'Content-Encoding': headerRef('ContentEncoding'),
    Vary: headerRef('Vary'),
  };
  return {
    200: { description, headers, content: Object.fromEntries(mediaTypes.map((type) => [type, {}])) },
    304: { description: 'Nothing has changed since the `ETag` of `If-None-Match`.', headers },
  };
}
