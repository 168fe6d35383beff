// Tests that the fault endpoints of the stand-ins behave as documented.

import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pollUntil } from '../../stack/poll-until.ts';
import { type FreshBackEnds, startFreshBackEnds } from './fresh-back-ends.ts';

const faults = '/adaptors/001/mock/faults';

let backEnds: FreshBackEnds;
beforeAll(async () => {
  backEnds = await startFreshBackEnds();
});
afterAll(() => backEnds.stop());

const ask = (fault: string, init: RequestInit = {}) => fetch(`${backEnds.url}${faults}/${fault}`, init);
const countOpen = async () => ((await backEnds.get(faults)).body as { open: number }).open;

/** Returns the received bytes as text, and how the connection ended. */
async function readRaw(fault: string): Promise<{ text: string; ended: 'close' | 'reset' }> {
  const socket = connect(Number(new URL(backEnds.url).port), '127.0.0.1');
  socket.write(`GET ${faults}/${fault} HTTP/1.1\r\nHost: adaptor\r\n\r\n`);
  let text = '';
  let ended: 'close' | 'reset' = 'close';
  socket.on('data', (chunk) => (text += chunk.toString('latin1')));
  socket.on('error', () => (ended = 'reset'));
  await new Promise((resolve) => socket.on('close', resolve));
  return { text, ended };
}

test.each([200, 299, 404, 418, 500, 503, 599, 799])(
  'status/%i: responds with that status and the body of the request',
  async (status) => {
    const init = { method: 'POST', headers: { 'content-type': 'text/x-odd' }, body: 'as sent' };
    const response = await ask(`status/${status}`, init);
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
      ...[status, 'text/x-odd', 'as sent'],
    ]);
  },
);

test('slow/{ms}: responds after that time', async () => {
  const start = performance.now();
  const response = await ask('slow/50');
  expect(await response.json()).toEqual({ slept: 50 });
  expect(performance.now() - start).toBeGreaterThanOrEqual(49);
});

test.each(['slow/60000', 'never'])('%s: nothing is left open when the client disconnects', async (fault) => {
  const client = new AbortController();
  const asked = ask(fault, { signal: client.signal }).catch((error: Error) => error.name);
  await pollUntil('the request to arrive', async () => (await countOpen()) === 1);
  client.abort();
  expect(await asked).toBe('AbortError');
  await pollUntil('the request to end', async () => (await countOpen()) === 0);
});

test('cut: half of the announced body, then a reset', async () => {
  const { text, ended } = await readRaw('cut');
  expect([text, ended]).toEqual([expect.stringMatching(/content-length: 38\r\n[\s\S]*\{"half":"of a body"$/), 'reset']);
});

test('reset: the connection is reset before a byte is sent', async () => {
  expect(await readRaw('reset')).toEqual({ text: '', ended: 'reset' });
});

test('bad-length: a whole body with a larger Content-Length, then an orderly close', async () => {
  const { text, ended } = await readRaw('bad-length');
  expect([text, ended]).toEqual([expect.stringMatching(/content-length: 117\r\n[\s\S]*\{"complete":true\}$/), 'close']);
});

test('bad-header: HTTP clients reject the response', async () => {
  expect((await readRaw('bad-header')).text).toContain('\r\nthis is no header\r\n');
  await expect(ask('bad-header')).rejects.toThrow('fetch failed');
});

test('html: 200 with an HTML page', async () => {
  const response = await ask('html');
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(await response.text()).toContain('<h1>');
});

test.each([0, 1, 70_000])('bytes/%i: that many bytes, the same each time', async (length) => {
  const [first, second] = await Promise.all([ask(`bytes/${length}`), ask(`bytes/${length}`)]);
  const bytes = Buffer.from(await first.arrayBuffer());
  expect([first.headers.get('content-type'), bytes.length]).toEqual(['application/octet-stream', length]);
  expect(bytes.equals(Buffer.from(await second.arrayBuffer()))).toBe(true);
  if (length > 1000) expect(new Set(bytes).size).toBe(256);
});

test.each([2, 3, 70_000])('text/%i: that many characters of JSON', async (length) => {
  const text = await (await ask(`text/${length}`)).text();
  expect(text).toHaveLength(length);
  const words = (JSON.parse(text) as string).split(' ');
  expect(new Set(words).size).toBe(words.length);
});

test('nul: a NUL byte and an escaped NUL', async () => {
  expect(await (await ask('nul')).text()).toBe('{"byte":"\0","escaped":"\\u0000"}');
});

test('redirect: leads to the echo endpoint of the same adaptor', async () => {
  const response = await ask('redirect', { redirect: 'manual' });
  expect([response.status, response.headers.get('location')]).toEqual([
    ...[302, `${backEnds.url}/adaptors/001/mock/echo/redirected`],
  ]);
  expect((await ask('redirect')).status).toBe(200);
});

test('empty: 204 without a body', async () => {
  const response = await ask('empty');
  expect([response.status, await response.text()]).toEqual([204, '']);
});

test('gzip: a compressed body with Content-Encoding: gzip', async () => {
  const { text } = await readRawClosing('gzip');
  expect(text).toContain('content-encoding: gzip');
  const body = Buffer.from(text.slice(text.indexOf('\r\n\r\n') + 4), 'latin1');
  expect(JSON.parse(gunzipSync(body).toString())).toEqual({ compressed: true });
});

test.each(['nonsense', 'status/99', 'status/1000', 'status/abc', 'slow', 'text/1', 'bytes/99999999', 'constructor'])(
  '%s → 404 as JSON',
  async (fault) => {
    const response = await ask(fault);
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'application/json']);
  },
);

test('the server still works after all faults', async () => {
  expect(await countOpen()).toBe(0);
  expect((await backEnds.get('/movies/Metropolis')).status).toBe(200);
});

/** Returns the response on a connection that the server closes. */
async function readRawClosing(fault: string): Promise<{ text: string }> {
  const socket = connect(Number(new URL(backEnds.url).port), '127.0.0.1');
  socket.write(`GET ${faults}/${fault} HTTP/1.1\r\nHost: adaptor\r\nConnection: close\r\n\r\n`);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return { text: Buffer.concat(chunks).toString('latin1') };
}
