// Tests of attacks on the token path of the running router: the path is not an oracle, an open relay or an amplifier. A
// proxy records the requests that the identity provider receives.

import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { HttpResponse } from '../plugins/oauth2/secured-host.ts';
import { call } from '../stack/client.ts';
import { type RecordingProxy, startRecordingProxy } from '../stack/recording-proxy.ts';
import { type AttackedStack, startAttackedStack } from './attacked-stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const trustedProxy = '127.0.0.200';
const form = ['Content-Type', 'application/x-www-form-urlencoded'];
const grant = 'grant_type=client_credentials';
const good = `${grant}&client_id=demo&client_secret=demo-secret`;
const basic = (id: string, secret: string) => [
  'Authorization',
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
];

let attacked: AttackedStack;
let attacker: RecordingProxy;

beforeAll(async () => {
  attacked = await startAttackedStack(engineOfRun().url, { ROUTER_TRUSTEDPROXIES: trustedProxy });
  attacker = await startRecordingProxy(attacked.stack.issuer);
});
afterAll(async () => {
  await attacked?.stop();
  await attacker?.stop();
});
beforeEach(() => {
  attacked.provider.answer = undefined;
  attacked.provider.requests.length = 0;
});

/**
 * The router counts attempts by address, so each test uses a new address. All of 127.0.0.0/8 belongs to this machine.
 */
let lastAddress = 1;
const newAddress = () => `127.0.0.${(lastAddress += 1)}`;

interface Post {
  from?: string;
  method?: string;
  fields?: readonly string[];
  path?: string;
}

function post(body: string | Buffer, { from = newAddress(), method = 'POST', fields = form, path }: Post = {}) {
  const { hostname, port, host } = new URL(attacked.stack.url);
  const length = method === 'POST' ? ['Content-Length', String(Buffer.byteLength(body))] : [];
  const headers = ['Host', host, ...fields, ...length] as never;
  const options = {
    hostname,
    port,
    path: path ?? '/token/v1/token',
    method,
    headers,
    localAddress: from,
    agent: false,
  };
  return new Promise<HttpResponse>((resolve, reject) => {
    const request = httpRequest(options as never, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          get body() {
            return JSON.parse(text) as Record<string, unknown>;
          },
        }),
      );
    });
    request.on('error', reject);
    request.end(method === 'POST' ? body : undefined);
  });
}

const asked = () => attacked.provider.requests.filter(({ target }) => target === '/token');

describe('an invalid token request never reaches the identity provider', () => {
  it.each<[string, number, string, Post]>([
    ['JSON', 400, '{"grant_type":"client_credentials"}', { fields: ['Content-Type', 'application/json'] }],
    ['a form declared as text', 400, good, { fields: ['Content-Type', 'text/plain'] }],
    ['multipart', 400, good, { fields: ['Content-Type', 'multipart/form-data; boundary=x'] }],
    ['no content type', 400, good, { fields: [] }],
    ['two content types', 400, good, { fields: [...form, ...form] }],
    ['a body longer than 16 KiB', 413, `${good}&x=${'x'.repeat(16_384)}`, {}],
    ['a compressed body', 400, good, { fields: [...form, 'Content-Encoding', 'gzip'] }],
    ['grant_type twice', 400, `${good}&${grant}`, {}],
    ['client_id twice', 400, `${good}&client_id=ops`, {}],
    ['the same client_secret twice', 400, `${good}&client_secret=demo-secret`, {}],
    ['scope twice', 400, `${good}&scope=a&scope=b`, {}],
    ['an unknown parameter twice', 400, `${good}&x=1&x=2`, {}],
    ['a parameter twice, once encoded', 400, `${good}&client%5Fid=ops`, {}],
    ['broken encoding', 400, `${good}&x=%zz`, {}],
    ['not UTF-8', 400, `${good}&x=%ff`, {}],
    ['another grant type', 400, good.replace('client_credentials', 'password'), {}],
    ['no grant type', 400, 'client_id=demo&client_secret=demo-secret', {}],
    ['scope with control characters', 400, `${good}&scope=a%0d%0ab`, {}],
    ['scope with a quote', 400, `${good}&scope=%22`, {}],
    ['client with a line break', 401, `${grant}&client_id=demo%0d%0a&client_secret=x`, {}],
    ['a client in both Basic and the form', 400, good, { fields: [...form, ...basic('demo', 'demo-secret')] }],
    ['two Basic fields', 400, grant, { fields: [...form, ...basic('demo', 'demo-secret'), ...basic('ops', 'x')] }],
    ['Basic without a colon', 401, grant, { fields: [...form, 'Authorization', 'Basic ZGVtbw=='] }],
    ['credentials in the query', 401, grant, { path: '/token/v1/token?client_id=demo&client_secret=demo-secret' }],
    ['everything in the query', 401, grant, { path: `/token/v1/token?${good}` }],
    ['an assertion instead of a secret', 401, `${grant}&client_id=demo&client_assertion=x`, {}],
    ['no credentials', 401, grant, {}],
    ['a GET', 405, '', { method: 'GET' }],
  ])('%s → %i', async (_name, status, body, options) => {
    const answer = await post(body, options);
    expect(answer.status).toBe(status);
    expect(asked()).toEqual([]);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.text).not.toContain('demo-secret');
    expect((await post(good)).status, 'a valid request right after').toBe(200);
  });
});

describe('no open relay, no amplifier', () => {
  it('forwards only parameters of RFC 6749, once, and only to the configured address', async () => {
    const extra = ['resource', 'audience', 'redirect_uri', 'token_endpoint', 'request_uri', 'username', 'assertion']
      .map((name) => `${name}=${encodeURIComponent(attacker.url)}`)
      .join('&');
    const from = newAddress();
    const fields = [...form, 'X-Forwarded-Host', 'evil.example', 'Cookie', 'a=b', 'DPoP', 'x', 'X-Anything', 'y'];
    const answer = await post(`${good}&scope=sisdata_W&${extra}`, { from, fields });
    expect(answer.status).toBe(200);
    expect(asked()).toHaveLength(1);
    const [{ body, headers }] = asked() as [ReturnType<typeof asked>[0]];
    expect([...new URLSearchParams(body).keys()].toSorted()).toEqual(['grant_type', 'scope']);
    expect(Object.keys(headers).toSorted()).toEqual([
      'accept',
      'authorization',
      'connection',
      'content-length',
      'content-type',
      'host',
    ]);
    expect(attacker.requests).toEqual([]);
  });
});

describe('internals of the identity provider are not disclosed', () => {
  const marker = 'ORA-00942 at /opt/idp/db.js:17';
  const json = { 'content-type': 'application/json' };
  const text = (value: unknown) => JSON.stringify(value);
  it.each<[string, number, { status: number; headers?: Record<string, string>; body: string }]>([
    ['a stack trace with 500', 503, { status: 500, body: marker }],
    ['a web page with 200', 503, { status: 200, headers: { 'content-type': 'text/html' }, body: `<p>${marker}` }],
    ['JSON without a token', 503, { status: 200, headers: json, body: text({ debug: marker }) }],
    [
      'a token of another type',
      503,
      { status: 200, headers: json, body: text({ access_token: marker, token_type: 'mac' }) },
    ],
    [
      'an error with a description',
      401,
      { status: 401, headers: json, body: text({ error: 'invalid_client', error_description: marker }) },
    ],
    [
      'an unknown error code',
      400,
      { status: 400, headers: json, body: text({ error: 'x_internal', error_description: marker }) },
    ],
    [
      'an error with a link',
      400,
      { status: 400, headers: json, body: text({ error: 'invalid_scope', error_uri: marker }) },
    ],
    ['its own rate limit', 503, { status: 429, headers: { 'x-internal': marker }, body: marker }],
    [
      'more than 64 KiB',
      503,
      { status: 200, headers: json, body: text({ access_token: marker, pad: 'x'.repeat(65_536) }) },
    ],
  ])('%s → %i', async (_name, status, answer) => {
    attacked.provider.answer = { ...answer, headers: { 'x-powered-by': marker, server: marker, ...answer.headers } };
    const got = await post(good);
    expect(got.status).toBe(status);
    expect(text([got.headers, got.text])).not.toContain('ORA-');
    attacked.provider.answer = undefined;
    expect((await post(good)).status, 'a valid request right after').toBe(200);
  });

  it('a redirect → 503, and it is not followed', async () => {
    attacked.provider.answer = { status: 302, headers: { location: `${attacker.url}/token` }, body: '' };
    const got = await post(good);
    expect(got.status).toBe(503);
    expect(got.headers['location']).toBeUndefined();
    expect(attacker.requests).toEqual([]);
  });
});

describe('no oracle', () => {
  it.each([
    ['form', (id: string, secret: string) => post(`${grant}&client_id=${id}&client_secret=${secret}`)],
    ['Basic', (id: string, secret: string) => post(grant, { fields: [...form, ...basic(id, secret)] })],
    [
      'Conductor key',
      (id: string, secret: string) =>
        post(JSON.stringify({ keyId: id, keySecret: secret }), { path: '/conductor/api/token' }),
    ],
  ])('%s: an unknown client and a wrong secret get the same response at the same cost', async (_name, ask) => {
    const wrong = await ask('demo', 'wrong');
    const work = asked().splice(0);
    attacked.provider.requests.length = 0;
    const unknown = await ask('nobody', 'wrong');
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    const own = (response: HttpResponse) => {
      const { date: _date, 'x-request-id': _id, ...headers } = response.headers;
      const { requestId: _requestId, ...body } = response.body;
      return { headers, body };
    };
    expect(own(unknown)).toEqual(own(wrong));
    // The wrong secret and the unknown client cause the same single request to the provider, so response times differ
    // only by the provider's own time.
    const shape = ({ method, target, headers, body }: (typeof work)[0]) => ({
      method,
      target,
      headers: Object.keys(headers),
      parameters: [...new URLSearchParams(body).keys()],
    });
    expect(work.map(shape)).toHaveLength(1);
    expect(asked().map(shape)).toEqual(work.map(shape));
  });
});

describe('attempts', () => {
  const guess = (client: string, options: Post) => post(`${grant}&client_id=${client}&client_secret=guess`, options);
  const statuses = (times: number, ask: (n: number) => Promise<HttpResponse>) =>
    Promise.all(Array.from({ length: times }, async (_, n) => (await ask(n)).status));
  const countOf = (all: readonly number[], status: number) => all.filter((one) => one === status).length;

  it('30 guesses at one client from one address → ten are tried; other clients and addresses still work', async () => {
    const from = newAddress();
    const all = await statuses(30, () => guess('demo', { from }));
    expect([countOf(all, 401), countOf(all, 429)]).toEqual([10, 20]);
    expect(asked()).toHaveLength(10);
    const limited = await post(good, { from });
    expect(limited.status, 'the right secret from the same address').toBe(429);
    expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0);
    expect((await post(good)).status, 'the client from another address').toBe(200);
    expect((await post(good.replaceAll('demo', 'reader'), { from })).status, 'another client').toBe(200);
  });

  it('130 guesses at many clients from one address → a hundred are tried', async () => {
    const from = newAddress();
    const all = await statuses(130, (n) => guess(`client-${n}`, { from }));
    expect([countOf(all, 401), countOf(all, 429)]).toEqual([100, 30]);
    expect(asked()).toHaveLength(100);
  });

  it('ignores X-Forwarded-For from an untrusted peer', async () => {
    const from = newAddress();
    const all = await statuses(15, (n) =>
      guess('demo', { from, fields: [...form, 'X-Forwarded-For', `192.0.2.${n}`] }),
    );
    expect([countOf(all, 401), countOf(all, 429)]).toEqual([10, 5]);
  });

  it('behind a trusted proxy, each address counts separately, and no client can forge another address', async () => {
    const via = (address: string) => ({ from: trustedProxy, fields: [...form, 'X-Forwarded-For', address] });
    const one = await statuses(15, (n) => guess('demo', via(`198.51.100.${n}, 192.0.2.1`)));
    expect([countOf(one, 401), countOf(one, 429)]).toEqual([10, 5]);
    expect((await post(good, via('192.0.2.2'))).status).toBe(200);
    expect((await post(good, via('192.0.2.1'))).status).toBe(429);
  });

  it('after all attacks, the token path works as before, and no client has reached the engine', async () => {
    expect((await post(good)).status).toBe(200);
    // The router itself checks whether the engine supports the calls that the router needs, has the definitions that
    // the gateway configuration names, and has an index.
    const own = /^GET \/api\/(?:metadata\/workflow\/|event$|workflow\/search\?query=indexed&)|^OPTIONS /;
    const asked = attacked.engine.requests.filter(({ method, target }) => !own.test(`${method} ${target}`));
    expect(asked).toEqual([]);
    expect((await call(`${attacked.stack.operationsUrl}/health/live`)).status).toBe(200);
  });
});
