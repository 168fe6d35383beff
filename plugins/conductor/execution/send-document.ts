// Sends a JSON document that the router itself has created. Caches must not store it.

import type { ServerResponse } from 'node:http';

/** A document and additional header fields. */
export interface SentDocument {
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a document. A response to HEAD has the length of the document too (RFC 9110 section 9.3.2). */
export function sendDocument(response: ServerResponse, status: number, { body, headers }: SentDocument): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json',
    'content-length': bytes.length,
    'cache-control': 'no-store',
  });
  response.end(response.req.method === 'HEAD' ? undefined : bytes);
}
