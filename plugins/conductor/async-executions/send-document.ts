// Sends a JSON document of the router itself; nobody else may keep it.

import type { ServerResponse } from 'node:http';

export interface SentDocument {
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The length is that of the document, to HEAD as well (RFC 9110 section 9.3.2). */
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
