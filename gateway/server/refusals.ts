// Writes error responses directly to sockets. Node creates no response object for bytes that never become a request.

import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { STATUS_CODES } from 'node:http';
import { Problem, problemDocument } from '#lib/problem/problem.ts';
import { allMethods } from '../plugin-api/gateway-config-schema.ts';

/** Problems by error code of Node's HTTP parser and timers; all other parser errors are `malformed-request`. */
const causes: Readonly<Record<string, () => Problem>> = {
  HPE_HEADER_OVERFLOW: () => new Problem('header-fields-too-large', { detail: 'At most 16384 bytes are accepted.' }),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () =>
    new Problem('malformed-request', { detail: 'The chunk extensions are too large.' }),
  ERR_HTTP_REQUEST_TIMEOUT: () => new Problem('request-timeout'),
};

/**
 * Returns the problem for an error of Node's HTTP parser; null when the connection is to be closed without a response.
 */
export function problemOfParserError({ code = '' }: NodeJS.ErrnoException): Problem | null {
  if (code === 'HPE_CLOSED_CONNECTION') return null;
  const known = causes[code];
  if (known !== undefined) return known();
  return code.startsWith('HPE_')
    ? new Problem('malformed-request', { detail: 'The request is not valid HTTP/1.1.' })
    : null;
}

/**
 * Returns the problem for CONNECT, for which Node emits `connect` instead of `request` and creates no response object.
 * The target of CONNECT is a host and port (RFC 9110 section 9.3.6) and not a route, so `Allow` lists every method that
 * a route can have.
 */
export function connectRefusal(): Problem {
  return new Problem('method-not-allowed', { headers: { allow: ['HEAD', ...allMethods].join(', ') } });
}

/** Writes a problem document to a socket. All earlier responses must be complete. */
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
