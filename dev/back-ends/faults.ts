// Endpoints that misbehave, one per path below `…/mock/faults/`, for any method:
//
//   status/{n}   status n (200-999) with the body and the content type of the request
//   slow/{ms}    200 after this many milliseconds, unless the client has disconnected
//   never        no response
//   cut          headers with a content-length, half of the body, then a reset
//   reset        the connection is reset before any response
//   html         200 with an HTML page
//   bytes/{n}    n deterministic pseudo-random bytes, as application/octet-stream
//   text/{n}     n characters of JSON: one string of distinct words
//   bad-header   a response with a malformed header line
//   bad-length   a complete body with a larger content-length, then an orderly close
//   nul          JSON with a NUL byte in one string and \u0000 in another
//   redirect     302 to another address on this machine (the echo)
//   empty        204
//   gzip         JSON with content-encoding gzip
//
// `GET …/mock/faults` returns the number of open requests to these endpoints.

import { createCipheriv } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { type Request, type Response, Router } from 'express';
import { respondWith, BackEndError } from './json-response.ts';
import { readBody } from './request-body.ts';

interface FaultContext {
  readonly request: Request;
  readonly response: Response;
  readonly socket: Socket;
  /** Returns the number in the path. @throws BackEndError 404 when it is out of range */
  number(least: number, most: number): number;
}

type Fault = (context: FaultContext) => void | Promise<void>;

const mebibyte = 1_048_576;

const faults: Readonly<Record<string, Fault>> = {
  async status({ request, response, number }) {
    const status = number(200, 999);
    const body = await readBody(request);
    const type = request.headers['content-type'];
    response.writeHead(status, type === undefined ? {} : { 'content-type': type }).end(body);
  },
  async slow({ response, number }) {
    const ms = number(0, 600_000);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    await delay(ms, undefined, { signal: gone.signal }).catch(() => undefined);
    if (!gone.signal.aborted) sendJson(response, { slept: ms });
  },
  never: () => undefined,
  cut({ response, socket }) {
    const body = '{"half":"of a body"';
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 * body.length });
    response.write(body, () => socket.resetAndDestroy());
  },
  reset: ({ socket }) => void socket.resetAndDestroy(),
  html({ response }) {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end('<!doctype html><title>Maintenance</title><h1>We will be back soon</h1>\n');
  },
  bytes({ response, number }) {
    const bytes = pseudoRandomBytes(number(0, 64 * mebibyte));
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes.length }).end(bytes);
  },
  text({ response, number }) {
    const text = distinctWords(number(2, 64 * mebibyte) - 2);
    response.writeHead(200, { 'content-type': 'application/json' }).end(`"${text}"`);
  },
  'bad-header'({ socket }) {
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nthis is no header\r\n\r\n';
    socket.end(`${head}{}`);
  },
  'bad-length'({ response, socket }) {
    const body = '{"complete":true}';
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length + 100 });
    response.write(body, () => socket.end());
  },
  nul({ response }) {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"byte":"\0","escaped":"\\u0000"}');
  },
  redirect({ request, response, socket }) {
    const echo = request.baseUrl.replace(/\/faults$/, '/echo/redirected');
    response.writeHead(302, { location: `http://127.0.0.1:${socket.localPort}${echo}` }).end();
  },
  empty({ response }) {
    response.writeHead(204).end();
  },
  gzip({ response }) {
    const body = gzipSync('{"compressed":true}');
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': body.length };
    response.writeHead(200, headers).end(body);
  },
};

/** Returns the router with the faults of one adaptor. */
export function createFaults(): Router {
  const open = new Set<Response>();
  const router = Router({ caseSensitive: true });
  router.get(
    '/',
    respondWith(() => ({ status: 200, body: { kinds: Object.keys(faults), open: open.size } })),
  );
  router.all('/:kind/:number?', (request, response, next) => {
    const { kind = '', number } = request.params;
    const fault = Object.hasOwn(faults, kind) ? faults[kind] : undefined;
    if (fault === undefined) return next();
    open.add(response);
    response.on('close', () => open.delete(response));
    const context = { request, response, socket: request.socket, number: parseNumber(number) };
    Promise.resolve()
      .then(() => fault(context))
      .catch(next);
  });
  return router;
}

function parseNumber(text: string | undefined): FaultContext['number'] {
  return (least, most) => {
    const number = /^\d{1,9}$/.test(text ?? '') ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new BackEndError('404 unknown-fault', `the last part of the path must be a number from ${least} to ${most}`);
  };
}

function sendJson(response: Response, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Returns the key stream of a cipher whose key is derived from `length`. */
function pseudoRandomBytes(length: number): Buffer {
  const key = Buffer.alloc(16);
  key.writeUInt32BE(length);
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length));
}

function distinctWords(length: number): string {
  const words: string[] = [];
  for (let index = 0, written = 0; written < length; index++) {
    const word = `w${index.toString(36)}`;
    words.push(word);
    written += word.length + 1;
  }
  return words.join(' ').padEnd(length).slice(0, length);
}
