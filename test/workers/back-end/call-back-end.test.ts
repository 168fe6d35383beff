// Tests of the back-end client over real sockets, with well-behaved and faulty back ends.

import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type SecureVersion } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { BackEndFailure } from '../../../workers/back-end/back-end-failure.ts';
import { type BackEndRequest, createBackEndCaller } from '../../../workers/back-end/call-back-end.ts';
import { makeCertificate } from '../../stack/certificate.ts';
import { answers, ok, type RawBackEnd, type Reaction, startRawBackEnd } from '../raw-back-end.ts';

/**
 * Deadline in milliseconds of `impatient`, the client for back ends that never respond. No test with another client
 * depends on a deadline.
 */
const timeoutMs = 400;
const maxResponseBytes = 100_000;
const impatient = createBackEndCaller({ timeoutMs, maxResponseBytes });
let caller: ReturnType<typeof createBackEndCaller>;
let backEnd: RawBackEnd | undefined;

afterAll(() => impatient.close());

beforeEach(() => {
  caller = createBackEndCaller({ timeoutMs: 60_000, maxResponseBytes });
});
afterEach(async () => {
  vi.unstubAllEnvs();
  caller.close();
  await backEnd?.stop();
  backEnd = undefined;
});

const read = (base: string, more: Partial<BackEndRequest> = {}): BackEndRequest => ({
  base,
  method: 'GET',
  path: '/x',
  headers: {},
  body: Buffer.alloc(0),
  ...more,
});
const write = (base: string, more: Partial<BackEndRequest> = {}) =>
  read(base, { method: 'PATCH', body: Buffer.from('{}'), ...more });

async function failureOf(call: Promise<unknown>): Promise<BackEndFailure> {
  const outcome = await call.catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(BackEndFailure);
  return outcome as BackEndFailure;
}

async function against(react: Reaction): Promise<RawBackEnd> {
  backEnd = await startRawBackEnd(react);
  return backEnd;
}

describe('the request of an expired task', () => {
  test('is not sent, and the failure says that nothing was changed', async () => {
    const { url, requests } = await against(ok);
    const { code, message } = await failureOf(caller.call(write(url, { isLate: () => true })));
    expect([code, message]).toEqual(['back-end-unreachable', expect.stringMatching(/nothing was changed$/)]);
    expect(requests).toEqual([]);
  });

  test('is not sent when the task expires while the connection is being opened', async () => {
    const { url, requests } = await against(ok);
    let asked = 0;
    const { code } = await failureOf(caller.call(write(url, { isLate: () => ++asked > 1 })));
    expect([code, asked]).toEqual(['back-end-unreachable', 2]);
    expect(requests).toEqual([]);
  });

  test('is not sent on a keep-alive connection', async () => {
    const { url, requests } = await against(ok);
    await caller.call(read(url, { isLate: () => false }));
    await failureOf(caller.call(read(url, { isLate: () => true })));
    expect(requests).toHaveLength(1);
  });
});

describe('the request', () => {
  test.each([
    ['/a%2Fb/', 'x=&x=1'],
    ['//', undefined],
    ['/a//b', ''],
    ['/%c3%a4/%C3%A4/~/%7e', 'q=%20+&q'],
    ['/a|b^c`{}"<>\'', 'a=[1]&b={"c":"|"}'],
    ['/\u00e4', 'ö=\u00ff'],
  ])('path %s and query %s arrive byte for byte', async (path, query) => {
    const { url, requests } = await against(ok);
    await caller.call(read(`${url}/base`, { path, query }));
    expect(requests[0]?.split('\r\n')[0]).toBe(`GET /base${path}${query === undefined ? '' : `?${query}`} HTTP/1.1`);
  });

  test('contains only the given headers and those that HTTP needs, and asks for an uncompressed response', async () => {
    const { url, requests } = await against(ok);
    await caller.call(write(url, { headers: { 'content-type': 'application/merge-patch+json', 'x-request-id': 'r' } }));
    const [head, body] = (requests[0] ?? '').split('\r\n\r\n');
    const names = head
      ?.split('\r\n')
      .slice(1)
      .map((line) => line.split(':')[0]?.toLowerCase())
      .sort();
    expect(names).toEqual(['accept-encoding', 'connection', 'content-length', 'content-type', 'host', 'x-request-id']);
    expect(head).toMatch(/\r\naccept-encoding: identity\r\n/i);
    expect(body).toBe('{}');
  });

  test.each(['GET', 'HEAD', 'OPTIONS', 'DELETE'])('%s without a body announces no body', async (method) => {
    const { url, requests } = await against(
      method === 'HEAD' ? answers('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n') : ok,
    );
    await caller.call(read(url, { method }));
    expect(requests[0]).not.toMatch(/transfer-encoding|content-length: [1-9]/i);
  });

  test.each(['POST', 'PUT', 'PATCH'])(
    '%s without a body is sent with Content-Length: 0 and no Content-Type',
    async (method) => {
      const { url, requests } = await against(ok);
      await caller.call(read(url, { method }));
      expect(requests[0]).toMatch(/\r\ncontent-length: 0\r\n/i);
      expect(requests[0]).not.toMatch(/content-type/i);
    },
  );

  test('a body of arbitrary bytes arrives unchanged, with GET and DELETE too', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const { url, requests } = await against(ok);
    for (const method of ['PUT', 'DELETE', 'GET']) await caller.call(read(url, { method, body: bytes }));
    for (const request of requests)
      expect(request.split('\r\n\r\n').slice(1).join('\r\n\r\n')).toBe(bytes.toString('latin1'));
    expect(requests).toHaveLength(3);
  });

  test('reuses keep-alive connections', async () => {
    const { url, connections } = await against(ok);
    for (let call = 0; call < 5; call++) await caller.call(read(url));
    expect(connections()).toBe(1);
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    '%s is sent on a connection of its own, which is closed afterwards',
    async (method) => {
      const { url, connections, requests } = await against(ok);
      await caller.call(read(url));
      for (let call = 0; call < 3; call++) await caller.call(write(url, { method }));
      expect(connections()).toBe(4);
      expect(requests.at(-1)).toMatch(/\r\nconnection: close\r\n/i);
    },
  );

  test('ignores proxy environment variables', async () => {
    const { url } = await against(ok);
    vi.stubEnv('HTTP_PROXY', 'http://127.0.0.1:9');
    vi.stubEnv('http_proxy', 'http://127.0.0.1:9');
    expect((await caller.call(read(url))).status).toBe(200);
  });
});

describe('the response', () => {
  test.each([200, 204, 299, 301, 302, 304, 400, 401, 404, 409, 429, 500, 503, 599])(
    'status %i is returned as a response',
    async (status) => {
      const { url } = await against(
        answers(`HTTP/1.1 ${status} X\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n`),
      );
      expect((await caller.call(write(url))).status).toBe(status);
    },
  );

  test('a redirect is returned and not followed', async () => {
    const { url, requests } = await against(answers('HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n'));
    const answer = await caller.call(read(url));
    expect(answer).toMatchObject({ status: 302, headers: { location: '/y' } });
    expect(requests).toHaveLength(1);
  });

  test('stays compressed and keeps its Content-Encoding', async () => {
    const body = gzipSync('{"a":1}');
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
    const { url } = await against((socket) => void socket.write(Buffer.concat([Buffer.from(head), body])));
    const answer = await caller.call(read(url));
    expect(answer.headers['content-encoding']).toBe('gzip');
    expect(answer.body.equals(body)).toBe(true);
  });

  test('NUL, a byte order mark and binary bytes are returned unchanged', async () => {
    const body = Buffer.from([0xef, 0xbb, 0xbf, 0x22, 0x00, 0x22, 0xff, 0xfe]);
    const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const { url } = await against((socket) => void socket.write(Buffer.concat([Buffer.from(head), body])));
    expect((await caller.call(read(url))).body.equals(body)).toBe(true);
  });

  test('chunks are joined, and a body of unknown length ends when the connection closes', async () => {
    const chunked = answers('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n');
    const first = await against(chunked);
    expect((await caller.call(read(first.url))).body.toString()).toBe('abcde');
    const second = await startRawBackEnd((socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\nto the end'));
    expect((await caller.call(read(second.url))).body.toString()).toBe('to the end');
    await second.stop();
  });
});

describe('calls without a complete response', () => {
  test('a refused connection → back-end-unreachable, and a write says that nothing was changed', async () => {
    const server = createServer().listen(0);
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    for (const host of ['127.0.0.1', 'localhost']) {
      expect(await failureOf(caller.call(read(`http://${host}:${port}`)))).toMatchObject({
        code: 'back-end-unreachable',
      });
      const failure = await failureOf(caller.call(write(`http://${host}:${port}`)));
      expect(failure.reason).toBe('back-end-unreachable: no connection; nothing was changed');
    }
  });

  test('a host that does not exist → back-end-unreachable', async () => {
    // The resolver rejects a label of more than 63 characters without querying a name server.
    const host = `${'x'.repeat(64)}.invalid`;
    expect((await failureOf(caller.call(read(`http://${host}`)))).code).toBe('back-end-unreachable');
  });

  test('an https base URL whose server speaks plain HTTP → back-end-unreachable', async () => {
    const server = createServer().listen(0);
    const { port } = server.address() as AddressInfo;
    const failure = await failureOf(caller.call(write(`https://127.0.0.1:${port}`)));
    expect(failure.code).toBe('back-end-unreachable');
    await new Promise((resolve) => server.close(resolve));
  });

  test.each<[string, (socket: Socket) => void]>([
    ['closes', (socket) => void socket.end()],
    ['resets', (socket) => void socket.resetAndDestroy()],
  ])('a back end that %s the connection during the TLS handshake → back-end-unreachable', async (_label, react) => {
    const { url, stop } = await listen(createTcpServer((socket) => socket.once('data', () => react(socket))));
    expect((await failureOf(caller.call(write(url)))).reason).toBe(
      'back-end-unreachable: no connection; nothing was changed',
    );
    expect((await failureOf(caller.call(read(url)))).reason).toBe('back-end-unreachable: no connection');
    await stop();
  });

  test('a TLS handshake that is not complete at the deadline → back-end-unreachable', async () => {
    const { url, stop } = await listen(createTcpServer());
    expect((await failureOf(impatient.call(write(url)))).reason).toBe(
      `back-end-unreachable: no connection within ${timeoutMs} ms; nothing was changed`,
    );
    expect((await failureOf(impatient.call(read(url)))).reason).toBe(
      `back-end-unreachable: no connection within ${timeoutMs} ms`,
    );
    await stop();
  });

  test.each<SecureVersion>(['TLSv1.2', 'TLSv1.3'])(
    'a certificate that is not trusted → back-end-unreachable, and nothing is sent (%s)',
    async (version) => {
      const certificate = makeCertificate();
      let received = '';
      const closed = Promise.withResolvers<void>();
      const server = createTlsServer({ key: certificate, cert: certificate, minVersion: version, maxVersion: version });
      server.on('connection', (socket: Socket) => socket.once('close', () => closed.resolve()));
      server.on('secureConnection', (socket) => {
        socket.on('data', (chunk) => void (received += chunk.toString())).on('error', () => undefined);
      });
      const { url, stop } = await listen(server);
      expect((await failureOf(caller.call(write(url)))).reason).toBe(
        'back-end-unreachable: no connection; nothing was changed',
      );
      await closed.promise;
      expect(received).toBe('');
      await stop();
    },
  );

  test.each<[string, Reaction]>([
    ['never responds', () => undefined],
    ['sends only the head of a response', answers('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n')],
    ['sends one byte at a time', (socket) => drip(socket)],
    ['sends nothing but informational responses', answers('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n')],
  ])('a back end that %s → back-end-timeout at the deadline', async (_label, react) => {
    const { url } = await against(react);
    const startedAt = performance.now();
    const failure = await failureOf(impatient.call(write(url)));
    expect(failure.reason).toBe(
      `back-end-timeout: no response within ${timeoutMs} ms; the change may have been applied`,
    );
    expect(performance.now() - startedAt).toBeLessThan(timeoutMs + 20_000);
    expect((await failureOf(impatient.call(read(url)))).reason).toBe(
      `back-end-timeout: no response within ${timeoutMs} ms`,
    );
  });

  test.each<[string, Reaction, RegExp]>([
    [
      'switches protocols without being asked',
      answers('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
      /not valid HTTP/,
    ],
    [
      'truncates the body',
      (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'),
      /is incomplete/,
    ],
    [
      'truncates a chunked body',
      (socket) => void socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab'),
      /is incomplete/,
    ],
    [
      'resets the connection in the middle of the body',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', () => socket.resetAndDestroy());
      },
      /is incomplete|before a response/,
    ],
    ['sends a header with a control character', answers('HTTP/1.1 200 OK\r\nX: a\u0000b\r\n\r\n'), /not valid HTTP/],
    ['does not speak HTTP', answers('SSH-2.0-OpenSSH_9.2\r\n\r\n'), /not valid HTTP/],
    [
      'sends both Content-Length and Transfer-Encoding',
      answers('HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
      /not valid HTTP/,
    ],
    ['sends a head of 100 KB', answers(`HTTP/1.1 200 OK\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`), /not valid HTTP/],
    [
      'announces a body above the size limit',
      answers(`HTTP/1.1 200 OK\r\nContent-Length: 10485760\r\n\r\n${'a'.repeat(maxResponseBytes + 1)}`),
      /too large/,
    ],
    ['closes without a response', (socket) => void socket.end(), /before a response/],
    ['resets the connection', (socket) => void socket.resetAndDestroy(), /before a response/],
  ])(
    'a back end that %s → back-end-bad-answer, and a write says that the change may have been applied',
    async (_l, react, text) => {
      const { url } = await against(react);
      const failure = await failureOf(caller.call(write(url)));
      expect(failure.code).toBe('back-end-bad-answer');
      expect(failure.message).toMatch(text);
      expect(failure.message).toMatch(/; the change may have been applied$/);
      expect(failure.reason).not.toMatch(/127\.0\.0\.1|ECONN|\bat /);
    },
  );

  test('aborts an endless response at the size limit', async () => {
    const { url } = await against((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const pump = setInterval(() => socket.write('a'.repeat(20_000)), 1);
      socket.on('close', () => clearInterval(pump));
    });
    expect((await failureOf(caller.call(read(url)))).message).toBe('the response is too large');
  });

  test('accepts a response of exactly the size limit', async () => {
    const { url } = await against(
      answers(`HTTP/1.1 200 OK\r\nContent-Length: ${maxResponseBytes}\r\n\r\n${'a'.repeat(maxResponseBytes)}`),
    );
    expect((await caller.call(read(url))).body).toHaveLength(maxResponseBytes);
  });
});

describe('retries', () => {
  test('retries a read twice when its connection is reset before a response arrives', async () => {
    const { url, requests } = await against((socket, request) => {
      if (requests.length < 3) socket.resetAndDestroy();
      else ok(socket, request);
    });
    expect((await caller.call(read(url))).status).toBe(200);
    expect(requests).toHaveLength(3);
  });

  test.each(['GET', 'HEAD', 'OPTIONS'])(
    '%s is sent at most three times when its connection is always reset',
    async (method) => {
      const { url, requests } = await against((socket) => void socket.resetAndDestroy());
      await failureOf(caller.call(read(url, { method })));
      expect(requests).toHaveLength(3);
    },
  );

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('%s is sent once, whatever happens', async (method) => {
    const { url, requests } = await against((socket) => void socket.resetAndDestroy());
    await failureOf(caller.call(write(url, { method })));
    expect(requests).toHaveLength(1);
  });

  test('does not retry a read whose response is incomplete', async () => {
    const { url, requests } = await against(
      (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na'),
    );
    await failureOf(caller.call(read(url)));
    expect(requests).toHaveLength(1);
  });
});

/** Starts a server on a free port of 127.0.0.1 and returns its `https:` URL and a function that stops it. */
async function listen(server: Server) {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function drip(socket: Socket): void {
  socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n');
  const timer = setInterval(() => socket.write('a'), 20);
  socket.on('close', () => clearInterval(timer));
}
