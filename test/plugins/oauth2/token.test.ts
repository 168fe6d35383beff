// Tests of the token policy as a token endpoint (RFC 6749 sections 2.3, 3.2, 4.4, 5): what it accepts, forwards and
// returns.

import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startPluginHost } from './plugin-host.ts';
import { badBehaviours } from './provider-stand-in.ts';
import { type HttpResponse, type SecuredHost, startSecuredHost } from './secured-host.ts';

let secured: SecuredHost;
const form = ['Content-Type', 'application/x-www-form-urlencoded'];
const granted = { access_token: 'opaque~value', token_type: 'Bearer', expires_in: 60, scope: 'sisdata_W' };
const goodBody = 'grant_type=client_credentials&client_id=demo&client_secret=demo-secret';

beforeAll(async () => {
  secured = await startSecuredHost();
});
afterAll(() => secured.stop());
afterEach(async () => {
  const { provider } = secured;
  provider.behaviour.token = 'ok';
  provider.metadata = {};
  provider.answerToken = () => ({ status: 200, body: granted });
  const answer = await post(goodBody);
  expect(answer.status, 'a valid request still works afterwards').toBe(200);
  provider.received.token.length = 0;
});

const post = (body: string | Buffer, fields: readonly string[] = form) =>
  secured.send('/token', fields, { method: 'POST', body });
const basic = (id: string, secret: string) => [
  'Authorization',
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
];
const asked = () => secured.provider.received.token;
const refuse = (status: number, body: unknown) => {
  secured.provider.answerToken = () => ({ status, body });
};

function expectNotCached({ headers }: HttpResponse): void {
  expect(headers['cache-control']).toBe('no-store');
  expect(headers['pragma']).toBe('no-cache');
}

function expectError(answer: HttpResponse, status: number, error: string): void {
  expect(answer.body).toEqual({ error, error_description: expect.stringMatching(/^[^"\\]+$/) as string });
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toBe('application/json');
  expectNotCached(answer);
}

describe('a valid request (section 4.4.2)', () => {
  it('client credentials in the body → the token with exactly four members, and no-store (section 5.1)', async () => {
    secured.provider.answerToken = () => ({
      status: 200,
      body: { ...granted, token_type: 'bearer', refresh_token: 'r', id_token: 'i', 'not-before-policy': 0 },
    });
    const answer = await post(`${goodBody}&scope=sisdata_W`);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(granted);
    expect(answer.headers['content-type']).toBe('application/json');
    expectNotCached(answer);
  });

  it('client credentials by Basic (section 2.3.1) → the same response', async () => {
    const answer = await post('grant_type=client_credentials', [...form, ...basic('demo', 'demo-secret')]);
    expect(answer.body).toEqual(granted);
  });

  it('Basic with form-encoded characters → decoded, and encoded again for the provider (appendix B)', async () => {
    await post('grant_type=client_credentials', [...form, ...basic('a%3Ab', 'p+%25%26%2B')]);
    const sent = Buffer.from(String(asked()[0]?.headers.authorization).slice(6), 'base64').toString();
    expect(sent).toBe('a%3Ab:p+%25%26%2B');
  });

  it('scheme "basic" or "BASIC", content type in capitals and with a charset → accepted', async () => {
    for (const scheme of ['basic', 'BASIC']) {
      const fields = ['Content-Type', 'APPLICATION/X-WWW-FORM-URLENCODED; charset=UTF-8'];
      const credentials = Buffer.from('demo:demo-secret').toString('base64');
      const answer = await post('grant_type=client_credentials', [
        ...fields,
        'authorization',
        `${scheme} ${credentials}`,
      ]);
      expect(answer.status).toBe(200);
    }
  });

  it('Basic, and the same client_id in the body → accepted', async () => {
    const answer = await post('grant_type=client_credentials&client_id=demo', [
      ...form,
      ...basic('demo', 'demo-secret'),
    ]);
    expect(answer.status).toBe(200);
  });

  it('only known parameters reach the provider', async () => {
    await post(`${goodBody}&scope=a+b&resource=urn:evil&audience=x&assertion=y&__proto__=z&username=u`);
    expect(Object.fromEntries(asked()[0]?.form ?? [])).toEqual({ grant_type: 'client_credentials', scope: 'a b' });
  });

  it('parameters without a value → as if not sent (section 3.2)', async () => {
    expect((await post(`${goodBody}&scope=&x&y=`)).status).toBe(200);
    expect(asked()[0]?.form.has('scope')).toBe(false);
  });

  it('scope left out by the provider → the requested scope (section 5.1), or none if none was requested', async () => {
    secured.provider.answerToken = () => ({ status: 200, body: { access_token: 'x', token_type: 'Bearer' } });
    expect((await post(`${goodBody}&scope=a`)).body).toEqual({ access_token: 'x', token_type: 'Bearer', scope: 'a' });
    expect((await post(goodBody)).body).toEqual({ access_token: 'x', token_type: 'Bearer' });
  });

  it('query parameters → neither read nor forwarded', async () => {
    const answer = await secured.send(`/token?${goodBody}`, form, {
      method: 'POST',
      body: 'grant_type=client_credentials',
    });
    expectError(answer, 401, 'invalid_client');
    expect(asked()).toHaveLength(0);
  });

  it('no log line contains the credentials or the token', async () => {
    await post(goodBody);
    refuse(401, { error: 'invalid_client' });
    await post(goodBody);
    secured.provider.behaviour.token = 'refuse';
    await post(goodBody);
    expect(secured.host.logLines.join('')).not.toMatch(/demo-secret|opaque~value/);
  });
});

describe('client authentication at the provider (RFC 8414 section 2)', () => {
  it.each([
    [undefined, 'basic'],
    [['client_secret_post', 'client_secret_basic'], 'basic'],
    [['client_secret_post', 'private_key_jwt'], 'post'],
    [['private_key_jwt'], 'basic'],
  ])('token_endpoint_auth_methods_supported %j → %s', async (methods, way) => {
    const other = await startSecuredHost();
    other.provider.metadata = { token_endpoint_auth_methods_supported: methods };
    await other.host.stop();
    const host = await startPluginHost({ config: { OAUTH_ISSUER: other.provider.issuer } });
    const response = await fetch(`${host.url}/token`, { method: 'POST', body: new URLSearchParams(goodBody) });
    expect(response.status).toBe(200);
    const [{ headers, form } = { headers: {}, form: new URLSearchParams() }] = other.provider.received.token;
    expect(headers.authorization === undefined ? 'post' : 'basic').toBe(way);
    expect(form.get('client_secret')).toBe(way === 'post' ? 'demo-secret' : null);
    await host.stop();
    await other.provider.stop();
  });

  it('oauth.tokenResource and oauth.tokenAudience → sent to the provider', async () => {
    const other = await startSecuredHost({ config: { OAUTH_TOKENRESOURCE: 'urn:r', OAUTH_TOKENAUDIENCE: 'urn:a' } });
    await other.send('/token', form, { method: 'POST', body: goodBody });
    expect(Object.fromEntries(other.provider.received.token[0]?.form ?? [])).toEqual({
      grant_type: 'client_credentials',
      resource: 'urn:r',
      audience: 'urn:a',
    });
    await other.stop();
  });
});

it('oauth.tokenScope → sent when the client names no scope', async () => {
  const other = await startSecuredHost({ config: { OAUTH_TOKENSCOPE: 'urn:r/.default' } });
  for (const body of [goodBody, `${goodBody}&scope=a`]) await other.send('/token', form, { method: 'POST', body });
  expect(other.provider.received.token.map((received) => received.form.get('scope'))).toEqual(['urn:r/.default', 'a']);
  await other.stop();
});

describe('a malformed request (section 5.2) → refused without a request to the provider', () => {
  afterEach(() => expect(asked()).toHaveLength(0));

  it.each([
    ['no grant_type', 'client_id=demo&client_secret=x', 'invalid_request'],
    ['grant_type without a value', 'grant_type=&client_id=demo&client_secret=x', 'invalid_request'],
    ['grant_type twice', `${goodBody}&grant_type=client_credentials`, 'invalid_request'],
    ['client_secret twice', `${goodBody}&client_secret=demo-secret`, 'invalid_request'],
    ['scope twice', `${goodBody}&scope=a&scope=b`, 'invalid_request'],
    ['an unknown parameter twice', `${goodBody}&x=1&x=2`, 'invalid_request'],
    ['a parameter twice, differently encoded', `${goodBody}&%63lient_id=demo`, 'invalid_request'],
    ['a parameter twice, once without a value', `${goodBody}&scope=a&scope`, 'invalid_request'],
    ['a parameter twice, first without a value', `${goodBody}&scope=&scope=a`, 'invalid_request'],
    ['broken percent-encoding', `${goodBody}&scope=%zz`, 'invalid_request'],
    ['percent-encoding that is not UTF-8', `${goodBody}&scope=%ff`, 'invalid_request'],
    [
      'password grant',
      'grant_type=password&username=u&password=p&client_id=demo&client_secret=x',
      'unsupported_grant_type',
    ],
    [
      'refresh_token grant',
      'grant_type=refresh_token&refresh_token=r&client_id=demo&client_secret=x',
      'unsupported_grant_type',
    ],
    ['grant_type toString', 'grant_type=toString&client_id=demo&client_secret=x', 'unsupported_grant_type'],
    [
      'grant_type in capitals',
      'grant_type=CLIENT_CREDENTIALS&client_id=demo&client_secret=x',
      'unsupported_grant_type',
    ],
    ['scope with a quote', `${goodBody}&scope=%22`, 'invalid_scope'],
    ['scope with a line feed', `${goodBody}&scope=a%0ab`, 'invalid_scope'],
    ['scope with two spaces', `${goodBody}&scope=a++b`, 'invalid_scope'],
    ['an empty body', '', 'invalid_client'],
  ])('%s → $2', async (_name, body, error) => {
    expectError(await post(body), error === 'invalid_client' ? 401 : 400, error);
  });

  it.each([
    ['JSON', ['Content-Type', 'application/json'], '{"grant_type":"client_credentials"}'],
    ['multipart', ['Content-Type', 'multipart/form-data; boundary=x'], goodBody],
    ['text', ['Content-Type', 'text/plain'], goodBody],
    ['no content type', [], goodBody],
    [
      'a content type that only begins with the type of a form',
      ['Content-Type', 'application/x-www-form-urlencodedx'],
      goodBody,
    ],
  ])('not a form: %s → invalid_request', async (_name, fields, body) => {
    expectError(await post(body, fields), 400, 'invalid_request');
  });

  it.each([
    ['Basic and client_secret', goodBody, basic('demo', 'demo-secret')],
    ['Basic and another client_id', 'grant_type=client_credentials&client_id=x', basic('demo', 's')],
    ['Basic twice', 'grant_type=client_credentials', [...basic('demo', 's'), ...basic('demo', 's')]],
    ['Basic and client_assertion', 'grant_type=client_credentials&client_assertion=x', basic('demo', 's')],
  ])('%s (section 2.3) → invalid_request', async (_name, body, fields) => {
    expectError(await post(body, [...form, ...fields]), 400, 'invalid_request');
  });

  it.each([
    ['no client', 'grant_type=client_credentials', []],
    ['a client without a secret', 'grant_type=client_credentials&client_id=demo', []],
    ['client_assertion', `grant_type=client_credentials&client_assertion=x`, []],
    ['a secret with control characters', 'grant_type=client_credentials&client_id=a&client_secret=a%00b', []],
    ['Bearer', 'grant_type=client_credentials', ['Authorization', 'Bearer x']],
    ['Basic without a colon', 'grant_type=client_credentials', ['Authorization', 'Basic ZGVtbw==']],
    ['Basic that is not base64', 'grant_type=client_credentials', ['Authorization', 'Basic ***']],
    ['Basic without a value', 'grant_type=client_credentials', ['Authorization', 'Basic']],
    ['Basic with an empty secret', 'grant_type=client_credentials', basic('demo', '')],
    ['Basic with broken percent-encoding', 'grant_type=client_credentials', basic('demo', '%zz')],
  ])('%s (section 2.3) → invalid_client', async (_name, body, fields) => {
    const answer = await post(body, [...form, ...fields]);
    expectError(answer, 401, 'invalid_client');
    expect(answer.headers['www-authenticate']).toMatch(/^Basic realm="service-router"/);
  });

  it('bytes that are not UTF-8 → invalid_request', async () => {
    const body = Buffer.concat([Buffer.from(`${goodBody}&scope=`), Buffer.from([0xff])]);
    expectError(await post(body), 400, 'invalid_request');
  });

  it('more than 16 KiB → 413, with or without Content-Length', async () => {
    const body = `${goodBody}&x=${'y'.repeat(16_384)}`;
    expect((await post(body)).status).toBe(413);
    expect(await endlessStatus(secured.host.url)).toBe('HTTP/1.1 413 Payload Too Large');
  });

  it.each(['GET', 'PUT', 'DELETE', 'HEAD'])('%s → 405 with Allow', async (method) => {
    const answer = await secured.send('/token', form, { method });
    expect(answer.status).toBe(405);
    expect(answer.headers['allow']).toBe('POST');
    expectNotCached(answer);
  });
});

describe('responses from the provider (section 5.2)', () => {
  it.each([
    { says: [401, { error: 'invalid_client' }], becomes: [401, 'invalid_client'] },
    { says: [400, { error: 'invalid_client' }], becomes: [401, 'invalid_client'] },
    { says: [401, { error: 'unauthorized_client' }], becomes: [401, 'invalid_client'] },
    { says: [401, '<html>'], becomes: [401, 'invalid_client'] },
    { says: [400, { error: 'unauthorized_client' }], becomes: [400, 'unauthorized_client'] },
    { says: [400, { error: 'invalid_scope' }], becomes: [400, 'invalid_scope'] },
    { says: [400, { error: 'unsupported_grant_type' }], becomes: [400, 'unsupported_grant_type'] },
    { says: [400, { error: 'invalid_grant' }], becomes: [400, 'invalid_grant'] },
    { says: [400, { error: 'invalid_request' }], becomes: [400, 'invalid_request'] },
    { says: [400, { error: 'something_else' }], becomes: [400, 'invalid_request'] },
    { says: [400, { error: 'toString' }], becomes: [400, 'invalid_request'] },
    { says: [400, { error: { a: 1 } }], becomes: [400, 'invalid_request'] },
    { says: [403, {}], becomes: [400, 'invalid_request'] },
  ] as const)('$says → $becomes, text not forwarded', async ({ says: [status, body], becomes: [expected, error] }) => {
    const secret = { error_description: 'ORA-01017 at db01.internal', error_uri: 'http://db01.internal/' };
    refuse(status, typeof body === 'string' ? body : { ...body, ...secret });
    const answer = await post(goodBody);
    expectError(answer, expected, error);
    expect(answer.text).not.toContain('internal');
  });

  it.each([
    [400, { error: 'server_error' }],
    [400, { error: 'temporarily_unavailable' }],
    [400, { error: 'invalid_target' }],
    [429, { error: 'slow_down' }],
    [500, { error: 'invalid_client' }],
    [503, {}],
    [204, null],
    [400, '<html>'],
    [200, {}],
    [200, []],
    [200, { access_token: '', token_type: 'Bearer' }],
    [200, { access_token: { a: 1 }, token_type: 'Bearer' }],
    [200, { access_token: 'x' }],
    [200, { access_token: 'x', token_type: 'DPoP' }],
    [200, { access_token: 'x', token_type: 'mac' }],
  ])('%d %j → 503', async (status, body) => {
    refuse(status, body);
    expectUnavailable(await post(goodBody));
  });

  it.each(badBehaviours)('%s → 503 problem document in bounded time', async (behaviour) => {
    secured.provider.behaviour.token = behaviour;
    // Some of these responses never end, so any response from the router proves that the time is bounded.
    expectUnavailable(await post(goodBody));
  });

  function expectUnavailable(response: HttpResponse): void {
    expect(response.status).toBe(503);
    expect(response.headers['content-type']).toBe('application/problem+json');
    expect(response.headers['retry-after']).toBe('5');
    expectNotCached(response);
    expect(response.body).toMatchObject({
      type: '/problems/identity-provider-unavailable',
      status: 503,
      error: 'temporarily_unavailable',
    });
    expect(response.text).not.toMatch(/internal|127\.0\.0\.1/);
  }
});

describe('format conductor', () => {
  const json = ['Content-Type', 'application/json'];
  const ask = (body: string) => secured.send('/conductor-token', json, { method: 'POST', body });
  const key = JSON.stringify({ keyId: 'worker', keySecret: 'worker-secret' });

  it('{keyId, keySecret} → {token, expires_in}, by the client-credentials grant', async () => {
    const answer = await ask(key);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ token: granted.access_token, expires_in: 60 });
    expectNotCached(answer);
    expect(Object.fromEntries(asked()[0]?.form ?? [])).toEqual({ grant_type: 'client_credentials' });
    const sent = Buffer.from(String(asked()[0]?.headers.authorization).slice(6), 'base64').toString();
    expect(sent).toBe('worker:worker-secret');
  });

  it.each([
    '',
    '{',
    '[]',
    'null',
    '"x"',
    '{}',
    '{"keyId":"a"}',
    '{"keyId":"","keySecret":"b"}',
    '{"keyId":1,"keySecret":2}',
  ])('body %j → 400 problem document, without a request to the provider', async (body) => {
    const answer = await ask(body);
    expect(answer.status).toBe(400);
    expect(answer.body['type']).toBe('/problems/malformed-request');
    expectNotCached(answer);
    expect(asked()).toHaveLength(0);
  });

  it('a wrong secret → 401 problem document with a challenge', async () => {
    refuse(401, { error: 'invalid_client' });
    const answer = await ask(key);
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('"status":401');
    expect(answer.body['type']).toBe('/problems/invalid-client');
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="service-router"');
  });

  it('a client that may not get tokens → 400; an unavailable provider → 503; a large body → 413', async () => {
    refuse(400, { error: 'unauthorized_client' });
    expect((await ask(key)).status).toBe(400);
    secured.provider.behaviour.token = 'html';
    expect((await ask(key)).status).toBe(503);
    expect((await ask(JSON.stringify({ keyId: 'a', keySecret: 'b'.repeat(20_000) }))).status).toBe(413);
  });
});

it('token requests are counted by result', async () => {
  const counts = () =>
    Promise.all(
      ['issued', 'invalid_client', 'unavailable'].map((one) => secured.count('router_token_requests_total', one)),
    );
  const before = await counts();
  await post(goodBody);
  refuse(401, {});
  await post(goodBody);
  secured.provider.behaviour.token = 'refuse';
  await post(goodBody);
  expect((await counts()).map((value, index) => value - (before[index] ?? 0))).toEqual([1, 1, 1]);
});

/** Returns the status line of the response to a POST with a body of unknown length that never ends. */
async function endlessStatus(baseUrl: string): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  socket.write(
    'POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n' +
      'Transfer-Encoding: chunked\r\n\r\n',
  );
  const chunk = `1000\r\n${'y'.repeat(0x1000)}\r\n`;
  for (let sent = 0; sent < 8; sent++) socket.write(chunk);
  try {
    for await (const data of socket as AsyncIterable<Buffer>) return data.toString().split('\r\n', 1)[0] ?? '';
    return 'closed without a response';
  } finally {
    socket.destroy();
  }
}
