// Tests of the bearer policy as a resource server (RFC 6750): where a token is accepted, the response to each failure,
// and what ends up in the request context, the log and the metrics.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type HttpResponse, type SecuredHost, startSecuredHost } from './secured-host.ts';

let secured: SecuredHost;

beforeAll(async () => {
  secured = await startSecuredHost();
});
afterAll(() => secured.stop());
afterEach(async () => {
  expect((await secured.call('/any', secured.token())).status, 'a valid token still works afterwards').toBe(200);
});

const challenge = 'Bearer realm="service-router"';

function expectProblem(answer: HttpResponse, status: number, code: string): void {
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toBe('application/problem+json');
  expect(answer.body).toMatchObject({ type: `/problems/${code}`, status });
}

function expectInvalidRequest(response: HttpResponse): void {
  expectProblem(response, 400, 'malformed-request');
  expect(response.headers['www-authenticate']).toMatch(
    /^Bearer realm="service-router", error="invalid_request", error_description="[^"]+"$/,
  );
}

describe('no credentials (RFC 6750 section 3.1)', () => {
  it.each([
    ['no header at all', []],
    ['an empty header', ['Authorization', '']],
    ['another scheme', ['Authorization', 'Basic ZGVtbzpkZW1v']],
    ['a scheme that only begins with Bearer', ['Authorization', 'Bearerx abc']],
    ['X-Authorization where the route does not take it', ['X-Authorization', 'abc']],
  ])('%s → 401 with a challenge that has no error code', async (_name, fields) => {
    const response = await secured.send('/any', fields);
    expectProblem(response, 401, 'unauthorized');
    expect(response.headers['www-authenticate']).toBe(challenge);
    expect(response.text).toContain('"status":401');
  });

  it('a token in the query or in a form body (sections 2.2, 2.3) → never read', async () => {
    const token = secured.token();
    for (const answer of [
      await secured.send(`/any?access_token=${token}`, []),
      await secured.send('/any', ['Content-Type', 'application/x-www-form-urlencoded'], {
        method: 'POST',
        body: `access_token=${token}`,
      }),
    ]) {
      expectProblem(answer, 401, 'unauthorized');
      expect(answer.headers['www-authenticate']).toBe(challenge);
    }
  });

  it('a token in a cookie → never read', async () => {
    expectProblem(await secured.send('/any', ['Cookie', `access_token=${secured.token()}`]), 401, 'unauthorized');
  });
});

describe('credentials (RFC 6750 section 2.1, RFC 9110 section 11.4)', () => {
  it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])('scheme "%s" → accepted', async (scheme) => {
    const answer = await secured.send('/any', ['Authorization', `${scheme} ${secured.token()}`]);
    expect(answer.status).toBe(200);
  });

  it('several spaces before the token → accepted', async () => {
    expect((await secured.send('/any', ['Authorization', `Bearer    ${secured.token()}`])).status).toBe(200);
  });

  it.each(['Bearer', 'bearer ', 'Bearer a b'])('"%s" → 400 invalid_request', async (value) => {
    expectInvalidRequest(await secured.send('/any', ['Authorization', value]));
  });

  it('a valid token followed by another word → 400 invalid_request', async () => {
    expectInvalidRequest(await secured.send('/any', ['Authorization', `Bearer ${secured.token()} x`]));
  });

  it('two Authorization headers, in any order and spelling → 400 invalid_request', async () => {
    const good = `Bearer ${secured.token()}`;
    for (const fields of [
      ['Authorization', good, 'Authorization', 'Bearer other'],
      ['Authorization', 'Bearer other', 'authorization', good],
      ['Authorization', good, 'AUTHORIZATION', good],
      ['Authorization', 'Basic eA==', 'Authorization', good],
    ]) {
      expectInvalidRequest(await secured.send('/any', fields));
    }
  });

  it('a tab instead of a space → not the Bearer scheme: 401', async () => {
    expectProblem(await secured.send('/any', ['Authorization', `Bearer\t${secured.token()}`]), 401, 'unauthorized');
  });

  it.each(['x', 'a.b', 'a.b.c.d.e', 'tok{en', '"quoted"', 'a,b'])('token "%s" → 401 invalid_token', async (token) => {
    const answer = await secured.call('/any', token);
    expectProblem(answer, 401, 'invalid-token');
    expect(answer.headers['www-authenticate']).toBe(
      `${challenge}, error="invalid_token", error_description="The access token is not valid"`,
    );
  });
});

describe('the member `error` of a 401, where the route takes X-Authorization', () => {
  const expired = () =>
    secured.token({ claims: { scope: 'conductor_worker', exp: Math.floor(Date.now() / 1000) - 60 } });

  it('an expired token → EXPIRED_TOKEN', async () => {
    const answer = await secured.send('/engine', ['X-Authorization', expired()]);
    expectProblem(answer, 401, 'invalid-token');
    expect(answer.body).toMatchObject({ error: 'EXPIRED_TOKEN' });
  });

  it('any other bad token → INVALID_TOKEN', async () => {
    const answer = await secured.send('/engine', ['X-Authorization', 'a.b.c']);
    expectProblem(answer, 401, 'invalid-token');
    expect(answer.body).toMatchObject({ error: 'INVALID_TOKEN' });
  });

  it('no token → INVALID_TOKEN, so that an SDK without a token fetches one', async () => {
    const answer = await secured.send('/engine', []);
    expectProblem(answer, 401, 'unauthorized');
    expect(answer.body).toMatchObject({ error: 'INVALID_TOKEN' });
    expect(answer.headers['www-authenticate']).toBe(challenge);
  });

  it('a valid token without the scope → 403 without the member, because a new token would not help', async () => {
    const answer = await secured.send('/engine', ['X-Authorization', secured.token({ claims: { scope: 'other' } })]);
    expectProblem(answer, 403, 'insufficient-scope');
    expect(answer.body).not.toHaveProperty('error');
  });

  it('a route that does not take X-Authorization → 401 without the member', async () => {
    for (const answer of [await secured.call('/any', expired()), await secured.send('/any', [])]) {
      expect(answer.status).toBe(401);
      expect(answer.body).not.toHaveProperty('error');
    }
  });
});

describe('X-Authorization, where the route takes it (Conductor SDKs)', () => {
  const worker = () => secured.token({ claims: { scope: 'conductor_worker' } });

  it('the token alone, or with a scheme → accepted', async () => {
    expect((await secured.send('/engine', ['X-Authorization', worker()])).status).toBe(200);
    expect((await secured.send('/engine', ['X-Authorization', `Bearer ${worker()}`])).status).toBe(200);
    expect((await secured.send('/engine', ['x-authorization', `bearer ${worker()}`])).status).toBe(200);
  });

  it('Authorization → accepted as well', async () => {
    expect((await secured.call('/engine', worker())).status).toBe(200);
  });

  it('both fields, or X-Authorization twice → 400 invalid_request', async () => {
    const token = worker();
    for (const fields of [
      ['Authorization', `Bearer ${token}`, 'X-Authorization', token],
      ['X-Authorization', token, 'X-Authorization', token],
      ['X-Authorization', token, 'x-authorization', 'other'],
    ]) {
      expectInvalidRequest(await secured.send('/engine', fields));
    }
  });

  it.each(['', 'Bearer', 'Bearer a b', 'a b'])('"%s" → 400 invalid_request', async (value) => {
    expectInvalidRequest(await secured.send('/engine', ['X-Authorization', value]));
  });

  it('a token in Authorization without its scheme → 401', async () => {
    expectProblem(await secured.send('/engine', ['Authorization', worker()]), 401, 'unauthorized');
  });
});

describe('scopes (RFC 6750 section 3.1, RFC 6749 section 3.3)', () => {
  const call = (path: string, scope: unknown, method = 'GET') =>
    secured.call(path, secured.token({ claims: { scope } }), method);

  function expectInsufficient(answer: HttpResponse, scope: string, description = 'A required scope is missing'): void {
    expectProblem(answer, 403, 'insufficient-scope');
    expect(answer.headers['www-authenticate']).toBe(
      `${challenge}, error="insufficient_scope", error_description="${description}", scope="${scope}"`,
    );
  }

  it.each(['GET', 'HEAD', 'OPTIONS'])('writeScope, %s → not needed', async (method) => {
    expect((await call('/write', 'sisdata_R', method)).status).toBe(200);
  });

  it.each(['PATCH', 'POST', 'PUT', 'DELETE', 'PROPFIND'])('writeScope, %s → needed', async (method) => {
    expectInsufficient(await call('/write', 'sisdata_R', method), 'sisdata_W');
    expect((await call('/write', 'sisdata_R sisdata_W', method)).status).toBe(200);
  });

  it('X-HTTP-Method-Override → changes nothing', async () => {
    const fields = ['Authorization', `Bearer ${secured.token({ claims: { scope: 'sisdata_R' } })}`];
    const override = ['X-HTTP-Method-Override', 'GET'];
    expectInsufficient(await secured.send('/write', [...fields, ...override], { method: 'PATCH' }), 'sisdata_W');
  });

  it.each([
    'sisdata_w',
    'SISDATA_W',
    'sisdata_W2',
    'xsisdata_W',
    'sisdata_',
    'sisdata_W,sisdata_R',
    'sisdata_W\tsisdata_R',
    'sisdata_W\nx',
    'sisdata*',
    ['sisdata_R sisdata_W'],
    [],
    '',
    undefined,
  ])('granted %j → is not sisdata_W', async (scope) => {
    expectInsufficient(await call('/write', scope, 'PATCH'), 'sisdata_W');
  });

  it('anyScope → one of its scopes is enough; without any of them → 403', async () => {
    expect((await call('/engine', 'conductor_worker')).status).toBe(200);
    expect((await call('/engine', ['x', 'conductor_admin'])).status).toBe(200);
    const refused = await call('/engine', 'sisdata_W');
    expectInsufficient(refused, 'conductor_worker conductor_admin', 'One of these scopes is required');
    expect(refused.body).toMatchObject({ detail: 'Required: one of conductor_worker, conductor_admin' });
  });

  it('scopes → all of them are needed', async () => {
    expect((await call('/all', 'two one')).status).toBe(200);
    expectInsufficient(await call('/all', 'one'), 'one two');
  });

  it('a refused request → the context still names the client', async () => {
    await call('/write', '', 'PATCH');
    expect(secured.host.contexts.at(-1)?.clientId).toBe('demo');
  });
});

describe('what the policy leaves behind', () => {
  it('the context has the client and its scopes, and no trace of the token is left in the request', async () => {
    const token = secured.token({ claims: { scope: 'a conductor_worker' } });
    for (const [path, fields] of [
      ['/any', ['Authorization', `Bearer ${token}`]],
      ['/any', ['AUTHORIZATION', `Bearer ${token}`, 'X-Authorization', token]],
      ['/engine', ['X-Authorization', token]],
    ] as const) {
      const answer = await secured.send(path, [...fields, 'X-Other', 'stays']);
      expect(answer.body).toMatchObject({ clientId: 'demo', scopes: ['a', 'conductor_worker'] });
      expect(answer.body['headers']).toMatchObject({ 'x-other': 'stays' });
      expect(answer.text).not.toContain(token);
    }
  });

  it('no log line contains a token, a secret or a signature', async () => {
    await secured.call('/any', secured.token());
    expect(secured.host.logLines.join('')).not.toContain('eyJ');
  });

  it('token checks are counted by result', async () => {
    const metric = 'router_access_tokens_checked_total';
    const before = await Promise.all(['valid', 'cached', 'expired'].map((result) => secured.count(metric, result)));
    const token = secured.token();
    await secured.call('/any', token);
    await secured.call('/any', token);
    await secured.call('/any', secured.token({ claims: { exp: 1 } }));
    const after = await Promise.all(['valid', 'cached', 'expired'].map((result) => secured.count(metric, result)));
    expect(after.map((value, index) => value - (before[index] ?? 0))).toEqual([1, 1, 1]);
  });
});
