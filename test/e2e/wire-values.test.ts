// Tests of hostile values in well-formed requests and responses: paths, header fields and bodies, in both directions,
// byte for byte.

import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Caller, callerFor, tokenOf } from '../stack/client.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { toBytes } from '../wire/notation.ts';
import { codeOf } from '../wire/play-case.ts';
import { type RawAnswer, RawConnection } from '../wire/raw-client.ts';
import { type RawBackEnd, startRawBackEnd } from '../workers/raw-back-end.ts';
import { engineOfRun } from './engine-of-run.ts';

let stack: Stack;
let backEnd: RawBackEnd;
let token: string;
let worker: Caller;
/** A server that must never receive a connection. */
let canary: Server;
let canaryAddress: string;
let canaryConnections = 0;
/** Functions that respond to a request, keyed by a word that the request contains. */
const reactions = new Map<string, (socket: Socket, request: string) => void>();

const plainAnswer = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok';

beforeAll(async () => {
  canary = createServer((socket) => {
    canaryConnections += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(canary, 'listening');
  canaryAddress = `127.0.0.1:${(canary.address() as AddressInfo).port}`;
  backEnd = await startRawBackEnd((socket, request) => {
    const found = [...reactions].find(([word]) => request.includes(word));
    if (found === undefined) socket.write(plainAnswer);
    else found[1](socket, request);
  });
  stack = await shareStack({
    engineUrl: engineOfRun().url,
    // Only the test polls this domain.
    router: { ADAPTOR_888_DOMAIN: 'wire' },
    workers: {
      ADAPTOR_777_URL: backEnd.url,
      MOVIES_URL: `${backEnd.url}/films`,
      LMSDW_URL: `${backEnd.url}/warehouse`,
    },
  });
  [token, worker] = await Promise.all([tokenOf(stack.url), callerFor(stack.url, 'worker')]);
});
afterAll(async () => {
  await stack?.stop();
  await backEnd?.stop();
  canary?.close();
});

/** Sends a request as raw bytes; returns the response and the requests that the back end received for it. */
async function send(
  target: string,
  { method = 'GET', fields = '', body = Buffer.alloc(0) }: { method?: string; fields?: string; body?: Buffer } = {},
): Promise<{ answer: RawAnswer; seen: string[] }> {
  const connection = new RawConnection(stack.url);
  const length = body.length === 0 ? '' : `Content-Length: ${body.length}\r\n`;
  const head = `${method} ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n${fields}${length}\r\n`;
  connection.send(Buffer.concat([toBytes(head.replaceAll('{', '\\x7b'), {}), body]));
  const answer = await connection.answer({ timeoutMs: 20_000 });
  connection.destroy();
  const id = String(answer.headers['x-request-id']);
  const seen = backEnd.requests.filter((request) => request.includes(`x-request-id: ${id}\r\n`));
  // A read may reach the back end twice: a worker repeats a read whose response was lost.
  return { answer, seen: method === 'GET' ? seen.slice(0, 1) : seen };
}

const targetOf = (request = '') => request.split(' ')[1];
const bodyOf = (request = '') => request.slice(request.indexOf('\r\n\r\n') + 4);
const fieldsOf = (request = '') =>
  Object.fromEntries(
    request
      .slice(0, request.indexOf('\r\n\r\n'))
      .split('\r\n')
      .slice(1)
      .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );

describe('paths', () => {
  it.each([
    ['..', '/../x'],
    ['encoded dots', '/%2e%2e/x'],
    ['half-encoded dots', '/.%2E/x'],
    ['an encoded slash', '/..%2fx'],
    ['an encoded backslash', '/..%5cx'],
    ['a backslash', '/..\\\\x'],
    ['a matrix parameter', '/..;a=b/x'],
    ['an encoded semicolon', '/..%3b/x'],
    ['double encoding', '/%252e%252e/x'],
    ['a doubly encoded slash', '/..%252fx'],
    ['triple encoding', '/%25252e%25252e%25252fx'],
    ['overlong dots', '/%c0%ae%c0%ae/x'],
    ['overlong dots as raw bytes', '/\\xc0\\xae\\xc0\\xae/x'],
    ['an overlong slash', '/..%c0%afx'],
    ['an overlong slash of three bytes', '/..%e0%80%afx'],
    ['a raw byte that is not UTF-8', '/\\xff'],
    ['UTF-8 that is not percent-encoded', '/caf\\xc3\\xa9'],
    ['a raw byte 0xA0 after a backslash', '\\\\a?\\xa0'],
    ['an encoded surrogate', '/%ed%a0%80'],
    ['fullwidth dots', '/%EF%BC%8E%EF%BC%8E/x'],
    ['fullwidth dots as raw bytes', '/\\xef\\xbc\\x8e\\xef\\xbc\\x8e/x'],
    ['a two-dot leader', '/%E2%80%A5/x'],
    ['a fullwidth slash', '/..%EF%BC%8Fx'],
    ['a fullwidth backslash', '/..%EF%BC%BCx'],
    ['NUL', '/a%00b'],
    ['CR and LF', '/a%0d%0aX-A:%20b'],
    ['a broken encoding', '/a%2'],
    ['a broken encoding in the query', '/a?b=50%'],
    ["Microsoft's non-standard encoding", '/%u002e%u002e/x'],
  ])('%s → 400, and nothing is called', async (_title, path) => {
    const { answer, seen } = await send(`/adaptor/777/wire${path}`);
    expect([answer.status, codeOf(answer)]).toEqual([400, 'malformed-request']);
    expect(seen).toEqual([]);
  });

  it.each([
    '//double//slash//',
    '/;a=b;c/d',
    '/a%2Fb%5Cc',
    '/a%252Fb',
    '/.hidden/..hidden/.../a..b',
    '/%EF%BC%8F%E2%80%AE%E2%88%95',
    '/%F0%9F%8E%AC?q=%F0%9F%8E%AC&q=&&=;x',
    '/a?b=c%0D%0Ad%09%00',
    '/a"b<c>d^e`|f',
    '/a?b=/../c&d=%2e%2e/',
    '/a?http://b/',
  ])('%s arrives as it was sent', async (path) => {
    expect(targetOf((await send(`/adaptor/777/wire${path}`)).seen[0])).toBe(`/wire${path}`);
  });
});

describe('the addresses of back ends come from the configuration alone', () => {
  it.each([
    ['/adaptor/http:%2f%2f{canary}%2f/x', 404, undefined],
    ['/adaptor/{canary}/x', 404, undefined],
    ['/adaptor/777@{canary}/x', 404, undefined],
    ['/adaptor/777%2f@{canary}/x', 404, undefined],
    ['/adaptor/777%23@{canary}/x', 404, undefined],
    ['/adaptor/toString/x', 404, undefined],
    ['/adaptor/__proto__/x', 404, undefined],
    ['//{canary}/movies/x', 404, undefined],
    ['/movies/http:%2F%2F{canary}%2Fx', 200, '/films/http:%2F%2F{canary}%2Fx'],
    ['/movies/@{canary}', 200, '/films/@{canary}'],
    ['/movies/%2F%2F{canary}', 200, '/films/%2F%2F{canary}'],
    ['/movies/%5C%5C{canary}', 200, '/films/%5C%5C{canary}'],
    ['/lmsDW/{canary}/dataSync/', 200, '/warehouse/{canary}/dataSync/'],
    ['/adaptor/777/@{canary}/', 200, '/@{canary}/'],
    ['/adaptor/777//{canary}/', 200, '//{canary}/'],
    ['/adaptor/777?x', 200, '/?x'],
  ])('%s → %i', async (path, status, target) => {
    const { answer, seen } = await send(path.replace('{canary}', canaryAddress), {
      fields: `X-Forwarded-Host: ${canaryAddress}\r\nX-Original-URL: http://${canaryAddress}/\r\n`,
    });
    expect(answer.status).toBe(status);
    expect(seen.map(targetOf)).toEqual(target === undefined ? [] : [target.replace('{canary}', canaryAddress)]);
    expect(canaryConnections).toBe(0);
  });

  it.each([301, 302, 303, 307, 308])('a redirect %i is passed on, never followed', async (status) => {
    const fields = `Location: http://${canaryAddress}/\r\nRefresh: 0;url=http://${canaryAddress}/\r\nContent-Length: 0`;
    reactions.set('/redirect', (socket) => void socket.write(`HTTP/1.1 ${status} Moved\r\n${fields}\r\n\r\n`));
    const { answer, seen } = await send('/adaptor/777/redirect', { method: 'POST', body: Buffer.from('x') });
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({ location: `http://${canaryAddress}/` });
    expect(answer.headers).not.toHaveProperty('refresh');
    expect(seen).toHaveLength(1);
    expect(canaryConnections).toBe(0);
  });
});

describe('header fields on their way to the back end', () => {
  const forged = [
    'X-Forwarded-For: 1.2.3.4',
    'X-Forwarded-Host: evil',
    'X-Forwarded-Proto: https',
    'X-Forwarded-Prefix: /x',
    'Forwarded: for=1.2.3.4',
    'X-Real-IP: 1.2.3.4',
    'X-Original-URL: /admin',
    'X-Rewrite-URL: /admin',
    'X-HTTP-Method-Override: DELETE',
    'Via: 1.1 evil',
    'eg-consumer-id: admin',
    'eg-request-id: 1',
    'X-Execution-Id: forged',
    'Idempotency-Key: forged',
    'Cookie: a=b',
    'X-Authorization: forged',
    'Proxy-Authorization: Basic x',
    'Proxy-Connection: keep-alive',
    'Keep-Alive: timeout=1000',
    'TE: trailers',
    'Trailer: X-A',
    'Upgrade: h2c',
    'Accept-Encoding: br',
    'Date: now',
    '__proto__: x',
    'constructor: x',
    'toString: x',
  ].map((line) => `${line}\r\n`);

  it.each(['GET', 'PATCH'])('%s: disallowed fields do not reach the back end', async (method) => {
    const fields = `${forged.join('')}Accept: a/b\r\nUser-Agent: u\r\n`;
    const { seen } = await send('/adaptor/777/fields', { method, fields, body: Buffer.from('x') });
    const { 'idempotency-key': key = '', 'x-request-id': id, ...rest } = fieldsOf(seen[0]);
    expect(rest).toEqual({
      accept: 'a/b',
      'accept-encoding': 'identity',
      connection: method === 'GET' ? 'keep-alive' : 'close',
      'content-length': '1',
      host: new URL(backEnd.url).host,
      'user-agent': 'u',
    });
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(key).toMatch(method === 'GET' ? /^$/ : /^[0-9a-f-]{36}$/);
  });

  it('fields that Connection names are not forwarded', async () => {
    const fields =
      'Connection: keep-alive, If-Match ,x-request-id, content-type\r\nIf-Match: "a"\r\nContent-Type: a/b\r\nPrefer: c\r\n';
    const { seen } = await send('/adaptor/777/fields', { method: 'PUT', fields, body: Buffer.from('x') });
    const found = fieldsOf(seen[0]);
    expect(found).not.toHaveProperty('if-match');
    expect(found).not.toHaveProperty('content-type');
    expect(found['prefer']).toBe('c');
    expect(found['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('non-ASCII bytes arrive as they were sent', async () => {
    const { seen } = await send('/adaptor/777/fields', { fields: 'User-Agent: caf\\xc3\\xa9 \\xff\r\n' });
    expect(fieldsOf(seen[0])['user-agent']).toBe('cafÃ© ÿ');
  });

  it.each(['my-own-id-1', '0123456789abcdef.A_B'])('X-Request-Id %s is kept', async (id) => {
    const { answer, seen } = await send('/adaptor/777/id', { fields: `X-Request-Id: ${id}\r\n` });
    expect([answer.headers['x-request-id'], fieldsOf(seen[0])['x-request-id']]).toEqual([id, id]);
  });

  it.each([
    'short',
    '<script>alert(1)</script>',
    'a"b"c"d"e',
    '${workflow.secrets.HOME}',
    'a%0d%0aSet-Cookie:b',
    '\\xc3\\xa9\\xc3\\xa9\\xc3\\xa9\\xc3\\xa9',
    '../../etc/passwd',
    'x'.repeat(65),
    'my-own-id-1\r\nX-Request-Id: my-own-id-2',
  ])('X-Request-Id %s is replaced', async (id) => {
    const { answer, seen } = await send('/adaptor/777/id', { fields: `X-Request-Id: ${id}\r\n` });
    const own = answer.headers['x-request-id'];
    expect(own).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    expect(fieldsOf(seen[0])['x-request-id']).toBe(own);
  });
});

describe('header fields on their way to the client', () => {
  it('disallowed and hop-by-hop fields do not reach the client', async () => {
    const lines = [
      'HTTP/1.1 200 OK',
      'Set-Cookie: a=b',
      'Connection: keep-alive, ETag, x-request-id',
      'ETag: "hop"',
      'Keep-Alive: timeout=1000',
      'Proxy-Authenticate: Basic',
      'Upgrade: h2c',
      'Server: secret/1.0',
      'X-Powered-By: secret',
      'X-Request-Id: forged-id-1',
      'X-Execution-Id: forged',
      'eg-request-id: forged',
      'Access-Control-Allow-Origin: *',
      'Content-Type: text/plain',
      'Link: <a>; rel=x',
      'Link: <${workflow.secrets.HOME}>',
      'Trailer: X-T',
      'Transfer-Encoding: chunked',
    ];
    reactions.set(
      '/answer',
      (socket) => void socket.write(`${lines.join('\r\n')}\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n`),
    );
    const { answer } = await send('/adaptor/777/answer');
    const { 'x-request-id': id, 'x-execution-id': execution, date, 'keep-alive': _, ...rest } = answer.headers;
    expect(rest).toEqual({
      ratelimit: expect.stringMatching(/^"client";r=\d+;t=1$/),
      'ratelimit-policy': '"client";q=1000;w=1',
      connection: 'keep-alive',
      'content-length': '2',
      'content-type': 'text/plain',
      link: '<a>; rel=x, <${workflow.secrets.HOME}>',
    });
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(execution).toMatch(/^[0-9a-f-]{36}$/);
    expect(date).toMatch(/GMT$/);
  });

  it.each([
    ['a bare carriage return', 'Location: x\rSet-Cookie: a=b\r\n'],
    ['NUL', 'Location: x\0y\r\n'],
    ['a folded line', 'Location: x\r\n Set-Cookie: a=b\r\n'],
    ['a line that is not a field', 'Location\r\n'],
    ['two lengths', 'Content-Length: 2\r\nContent-Length: 3\r\n'],
    ['a length and chunks', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n'],
    ['64 KiB of fields', `X-A: ${'a'.repeat(65_536)}\r\n`],
  ])('%s in a response → 502', async (_title, field) => {
    reactions.set('/injection', (socket) => socket.end(`HTTP/1.1 200 OK\r\n${field}\r\nok`));
    const { answer } = await send('/adaptor/777/injection', { method: 'POST', body: Buffer.from('x') });
    expect([answer.status, codeOf(answer)]).toEqual([502, 'back-end-bad-answer']);
    expect(answer.headers).not.toHaveProperty('set-cookie');
  });

  it.each([
    ['101', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n'],
    ['a status of 999', 'HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n'],
    ['bytes that are not HTTP', 'ok\r\n\r\n'],
    ['HTTP/9.9', 'HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['nothing', ''],
  ])('%s as a response → 502', async (_title, bytes) => {
    reactions.set('/strange', (socket) => socket.end(bytes));
    const { answer } = await send('/adaptor/777/strange', { method: 'POST', body: Buffer.from('x') });
    expect([answer.status, codeOf(answer)]).toEqual([502, 'back-end-bad-answer']);
  });

  it('a second response to a request is not taken as the response to the next request', async () => {
    const twice = `${plainAnswer}${plainAnswer.replace('\r\n\r\nok', '\r\n\r\nNO')}`;
    reactions.set('/twice', (socket) => void socket.write(twice));
    expect((await send('/adaptor/777/twice')).answer.body).toBe('ok');
    expect((await send('/adaptor/777/next')).answer.body).toBe('ok');
  });

  it('an endless response → 502 when it exceeds the limit, and its connection is closed', async () => {
    let closed = false;
    reactions.set('/endless', (socket) => {
      socket.on('close', () => (closed = true));
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
      const more = () => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('drain', more);
      more();
    });
    const { answer } = await send('/adaptor/777/endless');
    expect([answer.status, codeOf(answer)]).toEqual([502, 'back-end-bad-answer']);
    expect(closed).toBe(true);
  });
});

describe('bodies arrive byte for byte in both directions', () => {
  const deep = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);
  it.each([
    ['an array 100,000 deep', 'application/json', deep(100_000, '[', ']')],
    ['an object 30,000 deep', 'application/json', deep(30_000, '{"a":', '}').replace('{"a":}', '{"a":1}')],
    ['a number of 200,000 digits', 'application/json', '9'.repeat(200_000)],
    ['numbers beyond a double', 'application/json', '[1e999999999,-0,12345678901234567890,0.1e-400,1E+2]'],
    ['NaN and Infinity', 'application/json', '{"a":NaN,"b":-Infinity,"c":undefined}'],
    ['prototype names', 'application/json', '{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}},"toString":1}'],
    ['the same key five times', 'application/json', '{"a":1,"a":2,"a":3,"\\u0061":4,"a":{"a":5}}'],
    ['engine fields', 'application/json', '{"workflowId":"x","outbound":{"statusCodeValue":1},"inbound":{}}'],
    ['a lone surrogate in UTF-8', 'application/json', Buffer.from('7b2261223a22eda080227d', 'hex')],
    ['UTF-16 with its charset', 'application/json; charset=utf-16', Buffer.from('\ufeff{"a":"é"}', 'utf16le')],
    ['Latin-1 declared as UTF-8', 'text/plain; charset=utf-8', Buffer.from('é', 'latin1')],
    ['an unknown charset', 'text/plain; charset=klingon', 'abc'],
    ['line separators and noncharacters', 'application/json', '"\u2028\u2029\uffff\ufffe\u0000"'],
    ['a form with an expression', 'application/x-www-form-urlencoded', 'a=${workflow.secrets.HOME}&b=$%7Bc%7D'],
    ['XML with entities', 'application/xml', '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'],
    ['a gzip bomb', 'application/octet-stream', gzipSync(Buffer.alloc(30_000_000))],
    ['a brotli bomb', 'application/octet-stream', brotliCompressSync(Buffer.alloc(10_000_000))],
    ['half a gzip stream', 'application/octet-stream', gzipSync('half of this is missing').subarray(0, 20)],
    ['broken JSON', 'application/json', '{"a":'],
    ['a malformed content type', 'x', '{}'],
  ])('%s', async (_title, type, text) => {
    const body = Buffer.from(text as string);
    reactions.set('/body', (socket, request) => {
      const bytes = Buffer.from(bodyOf(request), 'latin1');
      const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Encoding: gzip\r\nContent-Length: ${bytes.length}\r\n\r\n`;
      socket.write(Buffer.concat([Buffer.from(head), bytes]));
    });
    const { answer, seen } = await send('/adaptor/777/body', {
      method: 'PATCH',
      fields: `Content-Type: ${type}\r\nContent-Encoding: gzip\r\n`,
      body,
    });
    expect(Buffer.from(bodyOf(seen[0]), 'latin1').equals(body)).toBe(true);
    expect(fieldsOf(seen[0])).toMatchObject({ 'content-type': type, 'content-encoding': 'gzip' });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ 'content-type': type, 'content-length': String(body.length) });
    expect(answer.body).toBe(body.toString('utf8'));
  });
});

describe('expressions of the engine come back exactly as sent, in every field that a client can set', () => {
  it.each([
    '${workflow.secrets.HOME}',
    '${workflow.input.inbound.clientId}',
    '${workflow.secrets.X',
    '$${workflow.secrets.X}',
    '$\\\\{workflow.secrets.X}',
    '${${workflow.secrets.X}}',
    '${CPEWF_TASK_ID}',
    '#{x} {{x}} %{x} @{x}',
  ])('%s', async (expression) => {
    const text = expression.replaceAll('\\\\', '\\');
    reactions.set('/expression', (socket, request) => {
      const { 'user-agent': agent = '' } = fieldsOf(request);
      const fields = ['Link', 'Location', 'ETag', 'Content-Type', 'Content-Disposition'].map(
        (name) => `${name}: ${agent}\r\n`,
      );
      const body = bodyOf(request);
      socket.write(`HTTP/1.1 200 OK\r\n${fields.join('')}Content-Length: ${body.length}\r\n\r\n${body}`);
    });
    const names = [
      'user-agent',
      'accept',
      'accept-language',
      'if-match',
      'if-none-match',
      'prefer',
      'content-type',
      'range',
    ];
    const inTarget = expression
      .replaceAll(' ', '%20')
      .replaceAll('#', '%23')
      .replaceAll(/%(?![0-9])/g, '%25');
    const { answer, seen } = await send(`/adaptor/777/expression/${inTarget}?a=${inTarget}`, {
      method: 'PATCH',
      fields: names.map((name) => `${name}: ${expression}\r\n`).join(''),
      body: Buffer.from(text),
    });
    const sent = inTarget.replaceAll('\\\\', '\\');
    expect(targetOf(seen[0])).toBe(`/expression/${sent}?a=${sent}`);
    expect(fieldsOf(seen[0])).toMatchObject(Object.fromEntries(names.map((name) => [name, text])));
    expect(bodyOf(seen[0])).toBe(text);
    expect(answer.headers).toMatchObject({
      link: text,
      location: text,
      etag: text,
      'content-type': text,
      'content-disposition': text,
    });
    expect(answer.body).toBe(text);
  });

  it('in path parameters', async () => {
    const title = '$%7Bworkflow.secrets.HOME%7D${workflow.secrets.HOME}';
    expect(targetOf((await send(`/movies/${title}`)).seen[0])).toBe(`/films/${title}`);
    expect(targetOf((await send(`/lmsDW/${title}/dataSync/`)).seen[0])).toBe(`/warehouse/${title}/dataSync/`);
    expect((await send(`/adaptor/${title}/x`)).answer.status).toBe(404);
  });
});

describe('a hostile worker', () => {
  const poll = '/conductor/api/tasks/poll/batch/college-adaptor_intake?domain=wire&count=1&timeout=3000';
  const bomb = gzipSync(Buffer.alloc(50_000_000)).toString('base64');
  it.each([
    ['no outbound object', {}, 502],
    ['no status', { headers: {} }, 502],
    ['a status as text', { statusCodeValue: '200' }, 502],
    ['an interim status', { statusCodeValue: 101 }, 502],
    ['a status with a fraction', { statusCodeValue: 200.5 }, 502],
    ['a line break in a field', { statusCodeValue: 200, headers: { location: 'x\r\nset-cookie: a=b' } }, 502],
    ['NUL in a field', { statusCodeValue: 200, headers: { etag: 'x\0' } }, 502],
    ['a character beyond Latin-1 in a field', { statusCodeValue: 200, headers: { etag: '\u0100' } }, 502],
    ['a line break in a name', { statusCodeValue: 200, headers: { 'location\r\nset-cookie': 'a=b' } }, 200],
    [
      'framing',
      { statusCodeValue: 200, headers: { 'content-length': '500', 'transfer-encoding': 'x', connection: 'x' } },
      200,
    ],
    ['a cookie', { statusCodeValue: 200, headers: { 'set-cookie': 'a=b' } }, 200],
    ['headers as text', { statusCodeValue: 200, headers: 'location: x' }, 200],
    ['headers as null', { statusCodeValue: 200, headers: null }, 200],
    ['a field as an object', { statusCodeValue: 200, headers: { etag: { a: 1 } } }, 200],
    ['a body that is not text', { statusCodeValue: 200, body: { a: 1 } }, 502],
    ['an unknown encoding', { statusCodeValue: 200, body: 'x', bodyEncoding: 'br' }, 502],
    ['a gzip bomb', { statusCodeValue: 200, body: bomb, bodyEncoding: 'gzip+base64' }, 502],
    ['half a gzip stream', { statusCodeValue: 200, body: 'H4sIAAAA', bodyEncoding: 'gzip+base64' }, 502],
  ])('that responds with %s', async (_title, outbound, status) => {
    const client = send('/adaptor/888/x');
    const [task] = (await worker(poll)).json<{ taskId: string; workflowInstanceId: string }[]>();
    const update = await worker('/conductor/api/tasks', {
      method: 'POST',
      json: {
        taskId: task?.taskId,
        workflowInstanceId: task?.workflowInstanceId,
        status: 'COMPLETED',
        outputData: { outbound },
      },
    });
    expect(update.status).toBe(200);
    const { answer } = await client;
    expect(answer.status).toBe(status);
    if (status !== 200) expect(codeOf(answer)).toBe('back-end-bad-answer');
    expect(answer.headers).not.toHaveProperty('set-cookie');
  });

  it.each([
    ['JSON 100,000 deep', '['.repeat(100_000)],
    ['objects 50,000 deep', `{"taskId":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`],
    ['a body that is not JSON', 'NaN'],
    ['null', 'null'],
    ['a task id that is not text', '{"taskId":{"toString":1},"workflowInstanceId":[]}'],
    ['prototype names', '{"__proto__":{"taskId":"x"},"constructor":1}'],
    ['compressed bytes', gzipSync('{}')],
  ])('that reports %s → 4xx', async (_title, body) => {
    for (const path of ['tasks', 'tasks/update-v2']) {
      const answer = await worker(`/conductor/api/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      expect([path, answer.status >= 400 && answer.status < 500, answer.text]).toEqual([
        path,
        true,
        expect.any(String),
      ]);
      expect(answer.headers['content-type']).toMatch(/json/);
    }
  });
});

it('no request in this file made the router fail', async () => {
  const metrics = await (await fetch(`${stack.operationsUrl}/metrics`)).text();
  expect(metrics).not.toMatch(/status="500"/);
  const errors = stack.router
    .output()
    .split('\n')
    .filter((line) => line.includes('"level":"error"'));
  // Ten seconds after its start, the router logs that the engine has no event handler for the college of this file.
  expect(errors.filter((line) => !line.includes('mdm-share-888'))).toEqual([]);
});
