// Tests of the request guard with raw requests on a socket, because an HTTP client would correct malformed requests.

import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { checkRequest } from '../../gateway/server/request-guard.ts';
import { type HttpServer, startHttpServer } from '../../gateway/server/http-server.ts';
import { Registry } from 'prom-client';
import { createAccessLog } from '../../gateway/server/access-log.ts';

let server: HttpServer;
let reached: string[] = [];

beforeAll(async () => {
  server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    app: (request, response) => {
      reached.push(`${request.method} ${request.url}`);
      response.end('through');
    },
    accessLog: createAccessLog(createLog('test', 'silent'), new Registry()),
    metrics: new Registry(),
    limits: {
      maxConnections: 100,
      headersTimeoutMs: 10_000,
      requestTimeoutMs: 30_000,
      keepAliveTimeoutMs: 65_000,
      responseTimeoutMs: 30_000,
    },
  });
});
afterAll(() => server.stop(1_000));

/** Sends bytes and reads until the response is complete or the server closes the connection. */
async function raw(text: string): Promise<string> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  let received = '';
  return new Promise((resolve) => {
    const finish = () => {
      socket.destroy();
      resolve(received);
    };
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      const length = /content-length: (\d+)/i.exec(received);
      const head = received.indexOf('\r\n\r\n');
      if (head !== -1 && length && received.length >= head + 4 + Number(length[1])) finish();
    });
    socket.on('close', finish);
    socket.on('error', finish);
    socket.write(Buffer.from(text, 'latin1'));
  });
}

const line = (target: string, fields = '') => `GET ${target} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;

describe('requests that two parsers could read differently are rejected before any other code sees them', () => {
  it.each([
    ['two Host fields', line('/', 'Host: b\r\n')],
    ['no Host field', 'GET / HTTP/1.1\r\n\r\n'],
    ['an absolute target', line('http://evil.example/')],
    ['an asterisk target', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a broken percent-encoding', line('/%zz')],
    ['a truncated percent-encoding', line('/a%2')],
    ['an encoded NUL', line('/movies/a%00b')],
    ['an encoded line feed', line('/movies/a%0ab')],
    ['a path that is not UTF-8', line('/movies/%ff')],
    ['an overlong slash', line('/movies/%c0%af')],
    ['UTF-8 that is not percent-encoded', line('/movies/caf\xc3\xa9')],
    // Express would read a target with a raw 0xA0 by other rules: a backslash as a slash, and `//a@b` as an authority.
    ['a raw byte 0xA0', line('/lmsDW\\001/dataSync?\xa0')],
    ['a raw byte 0xA0 after an authority', line('//a@b/movies/x?\xa0')],
    ['a dot segment', line('/adaptor/001/../002')],
    ['an encoded dot segment', line('/adaptor/001/%2e%2E/002')],
    ['a dot segment after an encoded slash', line('/adaptor/001/..%2f002')],
    ['a dot segment after a backslash', line('/adaptor/001/..%5c002')],
    ['a dot segment with a matrix parameter', line('/adaptor/001/..;x=1/002')],
    ['two Authorization fields', line('/', 'Authorization: Bearer a\r\nAuthorization: Bearer b\r\n')],
    ['two Content-Length fields', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    [
      'Content-Length and Transfer-Encoding',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['the codings gzip and chunked', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
    ['a transfer coding in HTTP/1.0', 'POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['obsolete line folding', 'GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n'],
    ['a bare line feed in a field', 'GET / HTTP/1.1\r\nHost: a\r\nX-A: b\nX-B: c\r\n\r\n'],
    ['HTTP/2.0 in the request line', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n'],
    ['HTTP/0.9', 'GET /\r\n\r\n'],
  ])('%s → 400', async (_title, bytes) => {
    reached = [];
    const answer = await raw(bytes);
    expect(reached).toEqual([]);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('application/problem+json');
    expect(answer).not.toContain('    at ');
  });

  it('a raw byte above 0x7f is rejected by the guard even if a parser accepts it', () => {
    const request = { httpVersion: '1.1', url: '/movies/x?\xe9', rawHeaders: ['Host', 'a'], headers: { host: 'a' } };
    expect(() => checkRequest(request as never)).toThrow('must be percent-encoded');
  });

  it('CONNECT → 405, and Allow names every method that a route may have', async () => {
    const answer = await raw('CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 405 .*\r\nallow: HEAD, GET, POST, PUT, PATCH, DELETE, OPTIONS\r\n/is);
  });

  it('64 KiB of header fields → 431', async () => {
    expect(await raw(line('/', `X-A: ${'a'.repeat(65_536)}\r\n`))).toMatch(/^HTTP\/1\.1 431 /);
  });
});

describe('valid requests pass unchanged', () => {
  it.each([
    '/adaptor/001/a%2Fb/?x=&x=1&y',
    '/adaptor/001//double//',
    '/movies/caf%C3%A9',
    '/a;matrix=1/b',
    '/a?../b',
    '/?',
  ])('%s', async (target) => {
    reached = [];
    expect(await raw(line(target))).toMatch(/^HTTP\/1\.1 200 /);
    expect(reached).toEqual([`GET ${target}`]);
  });
});

describe('X-Request-Id', () => {
  it('is kept when it is a valid token', async () => {
    expect(await raw(line('/', 'X-Request-Id: abc.DEF_12-3\r\n'))).toMatch(/x-request-id: abc\.DEF_12-3\r\n/i);
  });

  it.each(['short', 'a'.repeat(65), 'has space', '<script>', 'ümlaut-äöü'])('%s is replaced', async (given) => {
    const answer = await raw(line('/', `X-Request-Id: ${given}\r\n`));
    expect(answer).toMatch(/x-request-id: [0-9a-f]{8}-[0-9a-f-]{27}\r\n/i);
  });
});
