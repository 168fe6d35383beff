// Tests of every public path with an API client, from the token to the response from the back end.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, type Caller, callerFor } from '../stack/client.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

let stack: Stack;
let demo: Caller;
let reader: Caller;

beforeAll(async () => {
  stack = await shareStack({ engineUrl: engineOfRun().url });
  [demo, reader] = await Promise.all([callerFor(stack.url), callerFor(stack.url, 'reader')]);
});
afterAll(() => stack?.stop());

interface Echo {
  method: string;
  target: string;
  headers: Record<string, string>;
  body: string;
}

const person = '/adaptor/001/mock/colleges/001/persons';
const echo = '/adaptor/001/mock/echo';
const patch = { method: 'PATCH', headers: { 'content-type': 'application/json' } };

describe('routes return the back end’s own response', () => {
  it('GET /movies/{title}', async () => {
    const answer = await demo('/movies/seven%20samurai');
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ title: expect.stringMatching(/samurai/i) });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.headers['x-execution-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('GET /lmsDW/{college_id}/dataSync/ with and without the trailing slash', async () => {
    const direct = await call(`${stack.backEndsUrl}/lms-dw/001/dataSync/`);
    const routed = await demo('/lmsDW/001/dataSync/');
    expect(routed.status).toBe(direct.status);
    expect(Object.keys(routed.json())).toEqual(Object.keys(direct.json()));
    expect((await demo('/lmsDW/001/dataSync')).status).toBe(200);
  });

  it('GET /adaptor/{mis}/… with filters', async () => {
    const sections = `/adaptor/001/mock/colleges/001/sections`;
    const all = (await demo(sections)).json<unknown[]>();
    const some = (await demo(`${sections}?sisTermId=2026FA`)).json<{ sisTermId: string }[]>();
    expect(some.length).toBeGreaterThan(0);
    expect(some.length).toBeLessThan(all.length);
    expect(new Set(some.map(({ sisTermId }) => sisTermId))).toEqual(new Set(['2026FA']));
  });

  it('PATCH …/persons/{sisPersonId} changes the record and returns it', async () => {
    const [first] = (await demo(person)).json<{ sisPersonId: string; lastName: string }[]>();
    const answer = await demo(`${person}/${first?.sisPersonId}`, { ...patch, body: '{"cccid":"AAA1234"}' });
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ ...first, cccid: 'AAA1234' });
    expect((await demo(`${person}/${first?.sisPersonId}`)).json()).toMatchObject({ cccid: 'AAA1234' });
  });

  it('POST returns 201 with Location, DELETE 204 without a body', async () => {
    const record = { sisPersonId: 'e2e-1', firstName: 'Ines', lastName: 'Okafor', cccid: 'EEE0001' };
    const created = await demo(person, { ...patch, method: 'POST', body: JSON.stringify(record) });
    expect(created.status).toBe(201);
    expect(created.headers['location']).toContain('e2e-1');
    const deleted = await demo(`${person}/e2e-1`, { method: 'DELETE' });
    expect(deleted.status).toBe(204);
    expect(deleted.bytes).toHaveLength(0);
  });

  it.each([
    ['404 for an unknown person', `${person}/nobody`, {}, 404],
    ['400 for broken JSON', `${person}/nobody`, { ...patch, body: '{"cccid":' }, 400],
    [
      '415 for a wrong content type',
      `${person}/nobody`,
      { method: 'PATCH', headers: { 'content-type': 'text/plain' }, body: 'x' },
      415,
    ],
  ])('the back end’s own %s', async (_title, path, options, status) => {
    const answer = await demo(path, options);
    const direct = await call(`${stack.backEndsUrl}/adaptors/001${path.slice('/adaptor/001'.length)}`, options);
    expect(answer.status).toBe(status);
    expect(direct.status).toBe(status);
    expect(answer.text).toBe(direct.text);
  });

  it('HEAD returns the response to GET without the body', async () => {
    const answer = await demo('/movies/seven%20samurai', { method: 'HEAD' });
    expect(answer.status).toBe(200);
    expect(answer.bytes).toHaveLength(0);
    expect(answer.headers).not.toHaveProperty('content-length');
    expect(answer.headers['content-type']).toMatch(/json/);
  });

  it('another college is served by the workers of its own domain', async () => {
    expect((await demo('/adaptor/002/mock/colleges/002/persons')).status).toBe(200);
  });

  it('large responses: 8 MiB of bytes and 2 MB of distinct words', async () => {
    const direct = await fetch(`${stack.backEndsUrl}/adaptors/001/mock/faults/bytes/8388608`);
    const routed = await demo('/adaptor/001/mock/faults/bytes/8388608');
    expect(routed.status).toBe(200);
    expect(routed.bytes.equals(Buffer.from(await direct.arrayBuffer()))).toBe(true);
    const words = await demo('/adaptor/001/mock/faults/text/2000000');
    expect(words.bytes).toHaveLength(2_000_000);
  });
});

describe('requests reach the back end unchanged', () => {
  it.each([
    '/a%2Fb/?x=&x=1&y',
    '/trailing/',
    '//double//slash',
    '/caf%C3%A9/%E2%82%AC?q=%20+%2B',
    "/plus+and~tilde/(paren)/a:b@c;d=e,f!$&'*",
    '/empty?',
    '/%24%7Bworkflow.secrets.X%7D?a=${workflow.secrets.HOME}&b=${HOME}',
  ])('target %s', async (target) => {
    const answer = await demo(`${echo}${target}`);
    expect(answer.json<Echo>().target).toBe(`/adaptors/001/mock/echo${target}`);
  });

  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])('method %s', async (method) => {
    const body = method === 'GET' || method === 'DELETE' ? {} : { body: 'b' };
    expect((await demo(echo, { method, ...body })).json<Echo>().method).toBe(method);
  });

  it.each([
    ['a 20-digit number and a duplicate key', '{"id":12345678901234567890,"id":1}'],
    ['a lone surrogate, NUL escape and unknown fields', '{"a":"\\ud800","b":"\\u0000","unknown":{"deep":[1e400]}}'],
    ['engine expressions', '{"a":"${workflow.secrets.PATH}","b":"${workflow.input.inbound.clientId}"}'],
    ['white space and key order', '{ "z":1 ,\n\t"a" : 2.50 }'],
    ['__proto__', '{"__proto__":{"x":1}}'],
  ])('a JSON body with %s', async (_title, body) => {
    const answer = await demo(echo, { ...patch, method: 'POST', body });
    expect(Buffer.from(answer.json<Echo>().body, 'base64').toString()).toBe(body);
    const back = await demo('/adaptor/001/mock/faults/status/200', { ...patch, method: 'POST', body });
    expect(back.text).toBe(body);
    expect(back.headers['content-type']).toBe('application/json');
  });

  it('256 KiB of bytes that are not text', async () => {
    const body = Buffer.from(Array.from({ length: 262_144 }, (_, i) => (i * 7919) % 256));
    const answer = await demo(echo, { method: 'PUT', headers: { 'content-type': 'application/octet-stream' }, body });
    expect(Buffer.from(answer.json<Echo>().body, 'base64').equals(body)).toBe(true);
  });

  it('allowed headers arrive; credentials, cookies and forged headers do not', async () => {
    const answer = await demo(echo, {
      headers: {
        accept: 'a/b',
        'if-match': '"x"',
        cookie: 'c=1',
        'x-forwarded-for': '1.2.3.4',
        'eg-consumer-id': 'admin',
        'x-request-id': 'my-own-id-1',
      },
    });
    const { headers } = answer.json<Echo>();
    expect(headers).toMatchObject({ accept: 'a/b', 'if-match': '"x"', 'x-request-id': 'my-own-id-1' });
    for (const name of ['authorization', 'cookie', 'x-forwarded-for', 'eg-consumer-id'])
      expect(headers).not.toHaveProperty(name);
    expect(answer.headers['x-request-id']).toBe('my-own-id-1');
  });

  it('a write carries its execution id as Idempotency-Key; a read carries none', async () => {
    const write = await demo(echo, { method: 'POST', body: 'x' });
    expect(write.json<Echo>().headers['idempotency-key']).toBe(write.headers['x-execution-id']);
    expect((await demo(echo)).json<Echo>().headers).not.toHaveProperty('idempotency-key');
  });
});

describe('access control', () => {
  it('no token → 401 with a challenge that names no error', async () => {
    const answer = await call(`${stack.url}/movies/x`);
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer(?!.*error=)/);
    expect(answer.headers['content-type']).toBe('application/problem+json');
  });

  it('an unsigned token → 401 invalid_token', async () => {
    const answer = await call(`${stack.url}/movies/x`, {
      headers: { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' },
    });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    '%s under /adaptor/ without sisdata_W → 403, which names the scope',
    async (method) => {
      const answer = await reader(echo, { method, ...(method === 'DELETE' ? {} : { body: 'x' }) });
      expect(answer.status).toBe(403);
      expect(answer.headers['www-authenticate']).toMatch(/error="insufficient_scope".*scope="sisdata_W"/);
    },
  );

  it('GET needs no write scope', async () => {
    expect((await reader(echo)).status).toBe(200);
  });

  it('an unknown path → 404; a wrong method → 405 with Allow', async () => {
    const missing = await demo('/nowhere');
    expect(missing.status).toBe(404);
    expect(missing.json()).toEqual({
      type: '/problems/not-found',
      title: expect.any(String),
      status: 404,
      requestId: missing.headers['x-request-id'],
    });
    const wrong = await demo('/movies/x', { method: 'POST', body: 'x' });
    expect(wrong.status).toBe(405);
    expect(wrong.headers['allow']).toBe('GET, HEAD');
    expect((await demo('/movies/x', { method: 'OPTIONS' })).status).toBe(405);
  });

  it.each(['999', '00', 'not-a-code', '__proto__', '0%301x'])(
    'the MIS code %s, which no adaptor serves → 404, and no execution',
    async (code) => {
      for (const method of ['GET', 'PATCH']) {
        const answer = await demo(`/adaptor/${code}/mock/colleges/${code}/terms`, { method });
        expect(answer.status).toBe(404);
        expect(answer.json()).toEqual({
          type: '/problems/unknown-college',
          title: 'No college adaptor serves this MIS code',
          status: 404,
          requestId: answer.headers['x-request-id'],
        });
        expect(answer.headers).not.toHaveProperty('x-execution-id');
      }
    },
  );

  it('a body over the limit → 413, and the next request is served', async () => {
    const answer = await demo(echo, { method: 'POST', body: Buffer.alloc(262_145) });
    expect(answer.status).toBe(413);
    expect(answer.json()).toMatchObject({ type: '/problems/body-too-large' });
    expect((await demo(echo)).status).toBe(200);
  });
});
