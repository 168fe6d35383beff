// What is answered to bytes that never become a request: written by hand, because there is no response to write to.

import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { STATUS_CODES } from 'node:http';
import { Problem, problemDocument } from '#lib/problem/problem.ts';

/** By the codes of Node's parser and its timers; everything else that it cannot parse is malformed. */
const causes: Readonly<Record<string, () => Problem>> = {
  HPE_HEADER_OVERFLOW: () => new Problem('header-fields-too-large', { detail: 'At most 16384 bytes are accepted.' }),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () =>
    new Problem('malformed-request', { detail: 'The chunk extensions are too large.' }),
  ERR_HTTP_REQUEST_TIMEOUT: () => new Problem('request-timeout'),
};

/**
 * Why no more requests are read from a connection.
 * @returns null when the connection is gone, or nothing is to be said
 */
export function endOfRequests({ code = '' }: NodeJS.ErrnoException): Problem | null {
  if (code === 'HPE_CLOSED_CONNECTION') return null;
  const known = causes[code];
  if (known !== undefined) return known();
  return code.startsWith('HPE_') ? new Problem('malformed-request', { detail: 'This is not HTTP/1.1.' }) : null;
}

/** CONNECT never becomes a request in Node. */
export function connectRefusal(): Problem {
  return new Problem('method-not-allowed', { headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' } });
}

/** Writes the problem document. Every request before it must have its whole answer. */
export function refuseOnSocket(socket: Socket, problem: Problem): void {
  if (!socket.writable) return;
  const requestId = randomUUID();
  const body = JSON.stringify(problemDocument(problem, { requestId }));
  const fields = {
    ...problem.headers,
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-request-id': requestId,
    connection: 'close',
  };
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${head.join('')}\r\n${body}`);
}
