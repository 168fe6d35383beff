// Tests of the college adaptor stand-in over HTTP: reads, rejected requests, and writes that are applied once.

import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Section } from '../../../dev/back-ends/college-records.ts';
import { newCccid } from '../../stack/new-cccid.ts';
import { type FreshBackEnds, startFreshBackEnds } from './fresh-back-ends.ts';

const adaptor = '/adaptors/001';
const college = `${adaptor}/mock/colleges/001`;
const ramona = `${college}/persons/0318204`;
const termFields = [
  ...['misCode', 'sisTermId', 'year', 'session', 'type', 'start', 'end', 'preRegistrationStart', 'preRegistrationEnd'],
  ...['registrationStart', 'registrationEnd', 'addDeadline', 'dropDeadline', 'withdrawalDeadline', 'feeDeadline'],
  ...['censusDates', 'description'],
];
const sectionFields = [
  ...['sisSectionId', 'sisTermId', 'sisCourseId', 'instructors', 'maxEnrollments', 'maxWaitlist', 'minimumUnits'],
  ...['maximumUnits', 'meetingTimes', 'weeksOfInstruction', 'campus', 'start', 'end', 'preRegistrationStart'],
  ...['preRegistrationEnd', 'registrationStart', 'registrationEnd', 'addDeadline', 'dropDeadline', 'feeDeadline'],
  ...['withdrawalDeadline', 'censusDate', 'title', 'status', 'crosslistingDetail'],
];
const personFields = [
  ...['misCode', 'sisPersonId', 'firstName', 'lastName', 'emailAddresses', 'loginId', 'loginSuffix', 'cccid'],
];

let backEnds: FreshBackEnds;
beforeAll(async () => {
  backEnds = await startFreshBackEnds();
});
afterAll(() => backEnds.stop());

describe('terms', () => {
  test('of the college are listed, each with every field', async () => {
    const { status, body } = await backEnds.get(`${college}/terms`);
    expect(status).toBe(200);
    expect(body).toHaveLength(4);
    for (const term of body as object[]) expect(Object.keys(term).sort()).toEqual([...termFields].sort());
  });

  test('are found by id', async () => {
    const { body } = await backEnds.get(`${college}/terms/2026FA`);
    expect(body).toMatchObject({ misCode: '001', sisTermId: '2026FA', description: 'Fall 2026', start: '2026-08-24' });
  });

  test('an unknown term → 404', async () => {
    expect(await backEnds.get(`${college}/terms/1999FA`)).toMatchObject({
      status: 404,
      body: { code: 'unknown-term', message: expect.any(String) },
    });
  });
});

describe('sections', () => {
  const find = async (query: string) => {
    const { body } = await backEnds.get(`${college}/sections${query}`);
    return (body as Section[]).map(({ sisTermId, sisSectionId }) => `${sisTermId}/${sisSectionId}`);
  };

  test('of the college are listed, each with every field and with instructors that the college knows', async () => {
    const { body } = await backEnds.get(`${college}/sections`);
    for (const section of body as Section[]) {
      expect(Object.keys(section).sort()).toEqual([...sectionFields].sort());
      for (const { sisPersonId, lastName } of section.instructors) {
        expect((await backEnds.get(`${college}/persons/${sisPersonId}`)).body).toMatchObject({ lastName });
      }
    }
  });

  test.each([
    ['?sisCourseId=MATH-31', ['2026FA/33040', '2026SP/31905']],
    ['?sisTermId=2026SU', ['2026SU/32410']],
    ['?sisTermId=2026FA&sisCourseId=MATH-31', ['2026FA/33040']],
    ['?sisTermId=2026SU&sisTermId=2027SP', ['2026SU/32410', '2027SP/33012']],
    ['?sisCourseId=MATH-31&sisCourseId=BIO-3&sisTermId=2026FA', ['2026FA/33040', '2026FA/33066']],
    ['?sisTermId=&sisCourseId=BIO-3', ['2026FA/33066']],
    ['?sisTermId=1999FA', []],
  ])('filter %s → %j', async (query, expected) => {
    expect(await find(query)).toEqual(expected);
  });

  test('are found by id', async () => {
    expect((await backEnds.get(`${college}/sections/33066`)).body).toMatchObject({ sisCourseId: 'BIO-3' });
  });

  test('an id that two terms use → 400 unless the term is named', async () => {
    expect(await backEnds.get(`${college}/sections/33012`)).toMatchObject({
      status: 400,
      body: { code: 'term-needed' },
    });
    expect(await backEnds.get(`${college}/sections/33012?sisTermId=2027SP`)).toMatchObject({
      status: 200,
      body: { sisCourseId: 'HIST-17A' },
    });
  });

  test.each(['/sections/99999', '/sections/33066?sisTermId=2026SP'])('%s → 404', async (path) => {
    expect(await backEnds.get(`${college}${path}`)).toMatchObject({ status: 404, body: { code: 'unknown-section' } });
  });
});

describe.each([
  ['at the base of the adaptor', adaptor],
  ['below /mock/colleges/{mis}', college],
])('terms and sections %s', (_where, base) => {
  const idsOf = async (path: string) => {
    const { status, body } = await backEnds.get(`${base}${path}`);
    expect(status).toBe(200);
    return (body as Section[]).map(({ sisTermId, sisSectionId }) => sisSectionId ?? sisTermId);
  };

  test.each(['?mis=001', '', '?mis=', '/?mis=001'])('/terms%s → every term', async (query) => {
    expect(await idsOf(`/terms${query}`)).toEqual(['2026FA', '2026SP', '2026SU', '2027SP']);
  });

  test.each([
    ['?sisTermId=2026FA&sisCourseId=MATH-31&mis=001', ['33040']],
    ['?sisTermId=2026SU&mis=001', ['32410']],
    ['?sisCourseId=MATH-31&mis=001', ['31905', '33040']],
    ['/?sisTermId=2026SU&mis=001', ['32410']],
    ['?sisTermId=1999FA&sisCourseId=MATH-31&mis=001', []],
    ['?sisCourseId=NONE-1&mis=001', []],
  ])('/sections%s → %j', async (query, expected) => {
    expect((await idsOf(`/sections${query}`)).sort()).toEqual(expected);
  });

  test('/sections without filters or with empty filters → every section', async () => {
    const all = await idsOf('/sections?mis=001');
    expect(all.length).toBeGreaterThan(4);
    expect(await idsOf('/sections?sisTermId=&sisCourseId=&mis=')).toEqual(all);
  });

  test.each(['/terms?mis=002', '/sections?sisTermId=2026FA&sisCourseId=MATH-31&mis=002', '/terms?mis=001&mis=002'])(
    '%s → 400, because the query contradicts the path',
    async (path) => {
      expect(await backEnds.get(`${base}${path}`)).toMatchObject({ status: 400, body: { code: 'mis-mismatch' } });
    },
  );

  test.each(['/terms?mis=001', '/sections'])('POST %s → 405', async (path) => {
    const { status, headers } = await backEnds.call('POST', `${base}${path}`, { body: {} });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('persons', () => {
  test('are not served at the base of the adaptor', async () => {
    expect(await backEnds.get(`${adaptor}/persons`)).toMatchObject({ status: 404, body: { code: 'unknown-path' } });
  });

  test('of the college are listed, each with every field', async () => {
    const { body } = await backEnds.get(`${college}/persons`);
    expect((body as object[]).length).toBeGreaterThan(10);
    for (const person of body as object[]) expect(Object.keys(person)).toEqual(expect.arrayContaining(personFields));
  });

  test('PATCH {cccid} → 200 with the whole record, and GET shows it', async () => {
    const before = (await backEnds.get(ramona)).body as object;
    const cccid = newCccid();
    const patched = await backEnds.call('PATCH', ramona, { body: { cccid } });
    expect(patched).toMatchObject({ status: 200, body: { ...before, cccid } });
    expect((await backEnds.get(ramona)).body).toEqual(patched.body);
  });

  test('PATCH keeps fields that it does not know and returns them', async () => {
    const path = `${college}/persons/0323551`;
    await backEnds.call('PATCH', path, { body: { preferredName: { first: 'Lei' } } });
    const { body } = await backEnds.call('PATCH', path, { body: { loginId: 'lkahana' } });
    expect(body).toMatchObject({ firstName: 'Leilani', loginId: 'lkahana', preferredName: { first: 'Lei' } });
  });

  test.each(['application/merge-patch+json', 'application/json; charset=utf-8', 'Application/JSON'])(
    'PATCH as %s is accepted as JSON',
    async (type) => {
      const called = await backEnds.call('PATCH', ramona, { body: {}, headers: { 'content-type': type } });
      expect(called.status).toBe(200);
    },
  );

  test.each([
    ['text/plain', 415, 'not-json'],
    ['application/x-www-form-urlencoded', 415, 'not-json'],
    ['application/jsonp', 415, 'not-json'],
  ])('PATCH as %s → %i %s', async (type, status, code) => {
    const called = await backEnds.call('PATCH', ramona, {
      body: { cccid: 'X' },
      headers: { 'content-type': type },
    });
    expect(called).toMatchObject({ status, body: { code } });
  });

  test.each([
    ['{"cccid":', 400, 'broken-json'],
    ['', 400, 'broken-json'],
    ['[]', 422, 'not-an-object'],
    ['"ABC1234"', 422, 'not-an-object'],
    ['{"cccid":""}', 422, 'invalid-field'],
    ['{"cccid":"  "}', 422, 'invalid-field'],
    ['{"cccid":null}', 422, 'invalid-field'],
    ['{"cccid":7}', 422, 'invalid-field'],
    ['{"cccid":["ABC1234"]}', 422, 'invalid-field'],
    ['{"sisPersonId":"0000001"}', 422, 'invalid-field'],
    ['{"misCode":"002"}', 422, 'invalid-field'],
    ['{"firstName":null}', 422, 'invalid-field'],
    ['{"emailAddresses":[{"type":"Work"}]}', 422, 'invalid-field'],
  ])('PATCH with %s → %i %s, and nothing changes', async (text, status, code) => {
    const before = await backEnds.get(ramona);
    const response = await fetch(`${backEnds.url}${ramona}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: text,
    });
    expect([response.status, await response.json()]).toMatchObject([status, { code }]);
    expect((await backEnds.get(ramona)).body).toEqual(before.body);
  });

  test('PATCH with bytes that are not UTF-8 → 400', async () => {
    const response = await fetch(`${backEnds.url}${ramona}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from('{"cccid":"\xff"}', 'latin1'),
    });
    expect(response.status).toBe(400);
  });

  test('a cccid that another person of the college has → 409; the same person may keep it', async () => {
    const { cccid } = (await backEnds.get(`${college}/persons/0318766`)).body as { cccid: string };
    expect(await backEnds.call('PATCH', ramona, { body: { cccid } })).toMatchObject({
      status: 409,
      body: { code: 'cccid-taken' },
    });
    expect((await backEnds.call('PATCH', `${college}/persons/0318766`, { body: { cccid } })).status).toBe(200);
  });

  test('a cccid that a person of another college has is not a conflict', async () => {
    const cccid = newCccid();
    const elsewhere = '/adaptors/002/mock/colleges/002/persons/B00417733';
    expect((await backEnds.call('PATCH', ramona, { body: { cccid } })).status).toBe(200);
    expect((await backEnds.call('PATCH', elsewhere, { body: { cccid } })).status).toBe(200);
  });

  test('an unknown person → 404 for GET, PATCH and DELETE', async () => {
    for (const [method, options] of [
      ['GET', {}],
      ['PATCH', { body: { cccid: newCccid() } }],
      ['DELETE', {}],
    ] as const) {
      const called = await backEnds.call(method, `${college}/persons/nobody`, options);
      expect(called).toMatchObject({ status: 404, body: { code: 'unknown-person' } });
    }
  });

  test('POST → 201 with a Location that leads to the new person; again → 409', async () => {
    const body = { sisPersonId: `0399${randomUUID()} /ä`, firstName: 'Ines', lastName: 'Faro' };
    const created = await backEnds.call('POST', `${college}/persons`, { body });
    expect(created.status).toBe(201);
    const location = new URL(created.headers.get('location') as string, `${backEnds.url}${college}/persons`);
    expect((await backEnds.get(location.pathname)).body).toEqual({
      ...body,
      misCode: '001',
      emailAddresses: [],
      loginId: '',
      loginSuffix: '',
      cccid: null,
    });
    expect(await backEnds.call('POST', `${college}/persons`, { body })).toMatchObject({
      status: 409,
      body: { code: 'person-exists' },
    });
  });

  test('POST without a required field → 422 with a message that names it', async () => {
    const body = { firstName: 'Ines', lastName: 'Faro' };
    expect(await backEnds.call('POST', `${college}/persons`, { body })).toMatchObject({
      status: 422,
      body: { message: 'sisPersonId must be a non-empty string' },
    });
  });

  test('PUT creates a person, then replaces the record; DELETE → 204, and the person is gone', async () => {
    const path = `${college}/persons/${randomUUID()}`;
    const first = { firstName: 'Ines', lastName: 'Faro', nickname: 'Nes' };
    expect((await backEnds.call('PUT', path, { body: first })).status).toBe(201);
    const replaced = await backEnds.call('PUT', path, { body: { firstName: 'Inês', lastName: 'Faro' } });
    expect(replaced.status).toBe(200);
    expect(replaced.body).not.toHaveProperty('nickname');
    expect(await backEnds.call('DELETE', path)).toMatchObject({ status: 204, body: undefined });
    expect((await backEnds.get(path)).status).toBe(404);
  });
});

describe('rejected requests', () => {
  test.each(['Authorization', 'X-Authorization'])(
    'any call with the header %s → 403 with the reason, but without the value',
    async (name) => {
      for (const path of [`${college}/terms`, '/adaptors/002/mock/echo/x', '/adaptors/001/mock/faults/empty']) {
        const { status, body } = await backEnds.call('GET', path, { headers: { [name]: 'Bearer marker-of-token' } });
        expect([status, body]).toMatchObject([403, { code: 'authorization-refused' }]);
        expect(JSON.stringify(body)).toMatch(/this adaptor does not use OAuth, and no token may reach it/);
        expect(JSON.stringify(body)).not.toContain('marker-of-token');
      }
    },
  );

  test('an MIS code that the adaptor does not serve → 404', async () => {
    for (const path of ['/adaptors/001/mock/colleges/002/terms', '/adaptors/002/mock/colleges/001/persons']) {
      expect(await backEnds.get(path)).toMatchObject({ status: 404, body: { code: 'unknown-college' } });
    }
  });

  test.each([
    ['POST', '/terms', 'GET, HEAD'],
    ['DELETE', '/sections', 'GET, HEAD'],
    ['PUT', '/persons', 'GET, HEAD, POST'],
    ['POST', '/persons/0318204', 'GET, HEAD, PATCH, PUT, DELETE'],
  ])('%s %s → 405, Allow: %s', async (method, path, allow) => {
    const called = await backEnds.call(method, `${college}${path}`);
    expect([called.status, called.headers.get('allow')]).toEqual([405, allow]);
  });

  test.each(['/nowhere', '/adaptors/003/mock/colleges/003/terms', '/adaptors/001/mock', `${college}/rooms`])(
    '%s → 404 as JSON',
    async (path) => {
      expect(await backEnds.get(path)).toMatchObject({ status: 404, body: { code: 'unknown-path' } });
    },
  );

  test('a path that is not percent-encoded UTF-8 → 400 as JSON', async () => {
    const response = await fetch(`${backEnds.url}${college}/persons/%ff`);
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'malformed-path' }]);
  });

  test('a body above 16 MiB → 413 as JSON', async () => {
    const { status, body } = await backEnds.call('PATCH', ramona, { body: { note: 'x'.repeat(17_000_000) } });
    expect([status, body]).toMatchObject([413, { code: 'body-too-large' }]);
  });
});

describe('Idempotency-Key', () => {
  let key: string;
  beforeEach(() => {
    key = randomUUID();
  });
  const describeKey = async () => (await backEnds.get(`/adaptors/001/mock/idempotency-keys/${key}`)).body;
  const patchWithKey = (cccid: string, path = ramona) =>
    backEnds.call('PATCH', path, { body: { cccid }, headers: { 'idempotency-key': key } });

  test('the same request again gets the first response, even though the record has changed since', async () => {
    const cccid = newCccid();
    const first = await patchWithKey(cccid);
    const later = newCccid();
    await backEnds.call('PATCH', ramona, { body: { cccid: later } });
    const again = await patchWithKey(cccid);
    expect(again).toMatchObject({ status: first.status, body: first.body });
    expect([first, again].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true']);
    expect((await backEnds.get(ramona)).body).toMatchObject({ cccid: later });
    expect(await describeKey()).toEqual({ idempotencyKey: key, received: 2, applied: 1, status: 200 });
  });

  test('twenty equal requests at once are applied once', async () => {
    const cccid = newCccid();
    const responses = await Promise.all(Array.from({ length: 20 }, () => patchWithKey(cccid)));
    expect(new Set(responses.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1);
    expect(await describeKey()).toMatchObject({ received: 20, applied: 1 });
  });

  test('a rejection is replayed too and counts as not applied', async () => {
    const { cccid } = (await backEnds.get(`${college}/persons/0318766`)).body as { cccid: string };
    expect((await patchWithKey(cccid)).status).toBe(409);
    expect((await patchWithKey(cccid)).status).toBe(409);
    expect(await describeKey()).toMatchObject({ received: 2, applied: 0, status: 409 });
  });

  test('the same key for another request → 422, and nothing changes', async () => {
    await patchWithKey(newCccid());
    const before = (await backEnds.get(ramona)).body;
    expect(await patchWithKey(newCccid())).toMatchObject({ status: 422, body: { code: 'idempotency-key-reused' } });
    expect((await backEnds.get(ramona)).body).toEqual(before);
  });

  test('a replayed POST and DELETE get the first response', async () => {
    const headers = { 'idempotency-key': key };
    const body = { sisPersonId: randomUUID(), firstName: 'Ines', lastName: 'Faro' };
    const first = await backEnds.call('POST', `${college}/persons`, { body, headers });
    const again = await backEnds.call('POST', `${college}/persons`, { body, headers });
    expect([again.status, again.headers.get('location')]).toEqual([201, first.headers.get('location')]);
    key = randomUUID();
    const remove = () =>
      backEnds.call('DELETE', `${college}/persons/${body.sisPersonId}`, { headers: { 'idempotency-key': key } });
    expect([(await remove()).status, (await remove()).status]).toEqual([204, 204]);
  });

  test('a response is still replayed after a restart', async () => {
    const cccid = newCccid();
    const first = await patchWithKey(cccid);
    await backEnds.restart();
    expect((await patchWithKey(cccid)).body).toEqual(first.body);
    expect(await describeKey()).toMatchObject({ received: 2, applied: 1 });
  });

  test('an unused key → 404', async () => {
    expect(await describeKey()).toMatchObject({ code: 'unknown-idempotency-key' });
  });
});

describe('echo', () => {
  test('returns method, exact target, headers and body', async () => {
    const body = Buffer.from([0, 255, 10, 13, 123]);
    const target = '/adaptors/002/mock/echo/a%2Fb//c%zz/?x=&x=1&y=%20+;z';
    const socket = connect(Number(new URL(backEnds.url).port), '127.0.0.1');
    socket.write(
      `PROPFIND ${target} HTTP/1.1\r\nHost: adaptor\r\nX-Odd: one\r\nx-odd: two\r\n` +
        `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
    );
    socket.write(body);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    const [, text = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n');
    expect(JSON.parse(text)).toEqual({
      method: 'PROPFIND',
      target,
      headers: { host: 'adaptor', 'x-odd': 'one, two', 'content-length': '5', connection: 'close' },
      rawHeaders: [
        ...['Host', 'adaptor', 'X-Odd', 'one', 'x-odd', 'two', 'Content-Length', '5', 'Connection', 'close'],
      ],
      body: body.toString('base64'),
      bodyLength: 5,
    });
  });

  test.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    '%s without a path gets a response too',
    async (method) => {
      expect(await backEnds.call(method, '/adaptors/001/mock/echo')).toMatchObject({
        status: 200,
        body: { method, bodyLength: 0 },
      });
    },
  );
});
