// Tests of compressed responses end to end: from the back end through the engine to clients that accept br, gzip or
// neither.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, type Caller, callerFor } from '../stack/client.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const text = JSON.stringify({ film: 'a film about a film about a film. '.repeat(400) });
const seen: IncomingMessage[] = [];
/** A back end that responds with a large JSON document and with the header fields that the query contains. */
const backEnd = createServer((request, response) => {
  seen.push(request);
  const fields = Object.fromEntries(new URL(request.url ?? '', 'http://x').searchParams);
  response.writeHead(200, { 'content-type': 'application/json', ...fields }).end(text);
});

let stack: Stack;
let demo: Caller;
beforeAll(async () => {
  backEnd.listen(0, '127.0.0.1');
  await once(backEnd, 'listening');
  const url = `http://127.0.0.1:${(backEnd.address() as AddressInfo).port}`;
  stack = await shareStack({ engineUrl: engineOfRun().url, workers: { ADAPTOR_001_URL: url } });
  demo = await callerFor(stack.url);
});
afterAll(async () => {
  await stack?.stop();
  backEnd.close();
});

const asking = (coding: string) => ({ headers: { 'accept-encoding': coding } });

describe('a response over 1 KiB', () => {
  it.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const)('in %s states its compressed length and decodes to the bytes of the back end', async (coding, decode) => {
    const answer = await demo('/adaptor/001/large', asking(coding));
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ 'content-encoding': coding, vary: 'Accept-Encoding' });
    expect(answer.headers['content-length']).toBe(String(answer.bytes.length));
    expect(decode(answer.bytes).toString()).toBe(text);
    expect(answer.bytes.length).toBeLessThan(text.length / 10);
  });

  it('to a client without Accept-Encoding → the unchanged bytes, without Content-Encoding', async () => {
    const answer = await demo('/adaptor/001/large');
    expect(answer.text).toBe(text);
    expect(answer.headers).not.toHaveProperty('content-encoding');
    expect(answer.headers['vary']).toBe('Accept-Encoding');
  });

  it('to HEAD → no body and no Content-Encoding', async () => {
    const answer = await demo('/adaptor/001/large', { ...asking('br'), method: 'HEAD' });
    expect(answer.status).toBe(200);
    expect(answer.bytes).toHaveLength(0);
    expect(answer.headers).not.toHaveProperty('content-encoding');
  });

  it.each(['etag=%221%22', 'cache-control=no-transform', 'content-encoding=identity'])(
    'with %s → as the back end sent it',
    async (query) => {
      const answer = await demo(`/adaptor/001/large?${query}`, asking('br, gzip'));
      expect(answer.text).toBe(text);
      if (query.startsWith('etag')) expect(answer.headers['etag']).toBe('"1"');
    },
  );

  it('the Accept-Encoding of the client does not reach the back end', async () => {
    seen.length = 0;
    await demo('/adaptor/001/large', asking('br;q=0.7'));
    expect(seen.map(({ headers }) => headers['accept-encoding'])).not.toContain('br;q=0.7');
  });
});

describe('a response that is sent again', () => {
  it('has the encoding each request accepts, at /executions/{id}/response and for its Idempotency-Key', async () => {
    const put = { method: 'PUT', headers: { 'idempotency-key': randomUUID() } };
    const first = await demo('/adaptor/001/large', put);
    expect(first.text).toBe(text);
    const later = await demo(`/executions/${String(first.headers['x-execution-id'])}/response`, asking('br'));
    expect(later.headers).toMatchObject({ 'content-encoding': 'br', vary: 'Accept-Encoding' });
    expect(brotliDecompressSync(later.bytes).toString()).toBe(text);
    const headers = { ...put.headers, ...asking('gzip').headers };
    const replayed = await demo('/adaptor/001/large', { ...put, headers });
    expect(replayed.headers).toMatchObject({ 'content-encoding': 'gzip', 'idempotency-replayed': 'true' });
    expect(gunzipSync(replayed.bytes).toString()).toBe(text);
  });
});

describe('never compresses a response', () => {
  it('of the token path', async () => {
    for (const [path, type, body] of [
      [
        '/token/v1/token',
        'application/x-www-form-urlencoded',
        'grant_type=client_credentials&client_id=demo&client_secret=demo-secret',
      ],
      ['/conductor/api/token', 'application/json', '{"keyId":"worker","keySecret":"worker-secret"}'],
    ] as const) {
      const headers = { 'content-type': type, ...asking('br, gzip').headers };
      const answer = await call(`${stack.url}${path}`, { method: 'POST', headers, body });
      expect(answer.status).toBe(200);
      expect(answer.headers).not.toHaveProperty('content-encoding');
    }
  });

  it("of the engine's API, because the response may contain requests of several clients", async () => {
    const ops = await callerFor(stack.url, 'ops');
    const answer = await ops('/conductor/api/metadata/workflow', asking('br, gzip'));
    expect(answer.bytes.length).toBeGreaterThan(1_024);
    expect(answer.headers).not.toHaveProperty('content-encoding');
  });
});
