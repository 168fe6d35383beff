// Tests of the MDM stand-in over HTTP: notifications that count once, the crosswalk, shares, and unavailability.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NotificationResponse } from '../../../dev/back-ends/mdm.ts';
import { type FreshBackEnds, startFreshBackEnds } from './fresh-back-ends.ts';

let backEnds: FreshBackEnds;
beforeAll(async () => {
  backEnds = await startFreshBackEnds();
});
afterAll(() => backEnds.stop());

const newNotification = (fields: object = {}) => ({
  misCode: '001',
  sisPersonId: '0318204',
  cccid: `M${randomUUID().slice(0, 6)}`,
  requestId: randomUUID(),
  executionId: randomUUID(),
  request: { httpMethod: 'PATCH', path: '/mock/colleges/001/persons/0318204' },
  ...fields,
});
const notify = async (body: object) => {
  const { status, body: response } = await backEnds.call('POST', '/mdm/notifications', { body });
  return { status, response: response as NotificationResponse };
};
const readLog = async (query: string) => (await backEnds.get(`/mdm/governance-log${query}`)).body as object[];

describe('notifications', () => {
  test('get a response that names the interested system, with the id of the person there', async () => {
    const notification = newNotification();
    expect(await notify(notification)).toEqual({
      status: 200,
      response: {
        notificationId: expect.any(String),
        interestedSystems: [{ misCode: '002', sisPersonId: 'B00417733', cccid: notification.cccid }],
      },
    });
  });

  test('are logged with everything that was sent', async () => {
    const notification = newNotification();
    await notify(notification);
    expect(await readLog(`?executionId=${notification.executionId}`)).toEqual([
      {
        ...notification,
        entryId: expect.any(Number),
        kind: 'notification',
        status: 'recorded',
        recordedAt: expect.any(String),
      },
    ]);
  });

  test('a second delivery of a notification: the same response, no second entry, no second update', async () => {
    const notification = newNotification();
    const first = await notify(notification);
    const newer = newNotification();
    await notify(newer);
    expect(await notify(notification)).toEqual(first);
    expect(await readLog(`?executionId=${notification.executionId}`)).toHaveLength(1);
    const { body } = await backEnds.get('/mdm/golden-records');
    expect(body).toContainEqual(expect.objectContaining({ goldenId: 'GR-100017', cccid: newer.cccid }));
  });

  test('the same execution with another person or cccid is another notification', async () => {
    const notification = newNotification();
    await notify(notification);
    for (const fields of [{ sisPersonId: '0319375' }, { cccid: 'OTHER' }, { cccid: undefined }]) {
      await notify({ ...notification, ...fields });
    }
    expect(await readLog(`?executionId=${notification.executionId}`)).toHaveLength(4);
  });

  test('an older change that arrives late is logged, changes nothing and is not shared', async () => {
    const at = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
    const changedAt = at(2);
    const newest = newNotification({ sisPersonId: '0322467', changedAt });
    const older = newNotification({ sisPersonId: '0322467', changedAt: at(1) });
    expect((await notify(newest)).response.interestedSystems).toHaveLength(1);
    expect((await notify(older)).response.interestedSystems).toEqual([]);
    expect(await readLog(`?executionId=${older.executionId}`)).toHaveLength(1);
    expect((await backEnds.get('/mdm/golden-records')).body).toContainEqual({
      goldenId: 'GR-100031',
      cccid: newest.cccid,
      sourceMisCode: '001',
      updatedAt: changedAt,
    });
  });

  test('a changedAt that is not a time → 422', async () => {
    const body = newNotification({ changedAt: 'yesterday' });
    expect(await backEnds.call('POST', '/mdm/notifications', { body })).toMatchObject({ status: 422 });
  });

  test('update the golden record', async () => {
    const notification = newNotification({ sisPersonId: '0319375' });
    await notify(notification);
    expect((await backEnds.get('/mdm/golden-records')).body).toContainEqual({
      goldenId: 'GR-100055',
      cccid: notification.cccid,
      sourceMisCode: '001',
      updatedAt: expect.any(String),
    });
  });

  test('a person that only one college has → no system is interested', async () => {
    expect((await notify(newNotification({ sisPersonId: '0319375' }))).response.interestedSystems).toEqual([]);
  });

  test('an unmapped person gets a new golden record', async () => {
    const sisPersonId = randomUUID();
    expect((await notify(newNotification({ sisPersonId }))).response.interestedSystems).toEqual([]);
    const { body } = await backEnds.get('/mdm/crosswalk');
    expect(body).toContainEqual({ misCode: '001', sisPersonId, goldenId: expect.any(String) });
  });

  test('a change that does not affect the cccid is logged but not shared', async () => {
    const notification = newNotification({ cccid: undefined });
    expect((await notify(notification)).response.interestedSystems).toEqual([]);
    expect(await readLog(`?executionId=${notification.executionId}`)).toHaveLength(1);
  });

  test('the source is never named as interested in its own change', async () => {
    const notification = newNotification({ misCode: '002', sisPersonId: 'B00417733' });
    expect((await notify(notification)).response.interestedSystems).toEqual([]);
  });

  test.each(['misCode', 'sisPersonId', 'executionId', 'cccid'])(
    '%s that is not a string → 422 with a message that names it',
    async (name) => {
      const called = await backEnds.call('POST', '/mdm/notifications', { body: newNotification({ [name]: 7 }) });
      expect(called).toMatchObject({ status: 422, body: { message: `${name} must be a non-empty string` } });
    },
  );

  test('broken JSON → 400, another media type → 415, GET → 405', async () => {
    const post = (type: string) =>
      fetch(`${backEnds.url}/mdm/notifications`, { method: 'POST', headers: { 'content-type': type }, body: '{' });
    expect((await post('application/json')).status).toBe(400);
    expect((await post('text/plain')).status).toBe(415);
    const { status, headers } = await backEnds.get('/mdm/notifications');
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('shares', () => {
  test('an outcome is logged once; a later, different outcome is another entry', async () => {
    const share = {
      executionId: randomUUID(),
      misCode: '002',
      sisPersonId: 'B00417733',
      cccid: 'ABC',
      status: 'failed',
    };
    const record = async (body: object) => (await backEnds.call('POST', '/mdm/shares', { body })).status;
    expect([await record(share), await record(share), await record({ ...share, status: 'applied' })]).toEqual([
      ...[201, 200, 201],
    ]);
    expect(await readLog(`?executionId=${share.executionId}`)).toMatchObject([
      { ...share, kind: 'share' },
      { ...share, kind: 'share', status: 'applied' },
    ]);
  });

  test('of a cccid that has since changed get a response that names the new cccid', async () => {
    const person = { misCode: '002', sisPersonId: 'B00421960' };
    const changedAt = new Date(Date.now() + 10_000).toISOString();
    const { cccid } = newNotification();
    await notify(newNotification({ sisPersonId: '0322467', cccid, changedAt }));
    const share = async (shared: string, status = 'shared') => {
      const body = { ...person, executionId: randomUUID(), cccid: shared, status };
      return (await backEnds.call('POST', '/mdm/shares', { body })).body as { cccid?: string };
    };
    expect((await share('OLD')).cccid).toBe(cccid);
    expect((await share(cccid)).cccid).toBeUndefined();
    expect((await share('OLD', 'failed')).cccid).toBeUndefined();
  });

  test('without a status → 422', async () => {
    const body = { executionId: randomUUID(), misCode: '002', sisPersonId: 'B00417733' };
    expect(await backEnds.call('POST', '/mdm/shares', { body })).toMatchObject({
      status: 422,
      body: { message: 'status must be a non-empty string' },
    });
  });

  test('an execution with a notification and a share has both entries, which are also found by person', async () => {
    const notification = newNotification();
    await notify(notification);
    const { executionId } = notification;
    const share = { executionId, misCode: '002', sisPersonId: 'B00417733', status: 'applied' };
    await backEnds.call('POST', '/mdm/shares', { body: share });
    expect(await readLog(`?executionId=${executionId}`)).toMatchObject([{ kind: 'notification' }, { kind: 'share' }]);
    expect(await readLog(`?executionId=${executionId}&sisPersonId=B00417733`)).toMatchObject([{ kind: 'share' }]);
  });
});

describe('interested systems', () => {
  test('are registered and removed, and MDM names only registered systems', async () => {
    const path = '/mdm/interested-systems/001';
    expect(await backEnds.call('PUT', path, { body: { name: 'Redwood' } })).toMatchObject({
      status: 201,
      body: { misCode: '001', name: 'Redwood' },
    });
    expect((await backEnds.call('PUT', path)).status).toBe(200);
    const fromTwo = () => notify(newNotification({ misCode: '002', sisPersonId: 'B00417733' }));
    expect((await fromTwo()).response.interestedSystems).toMatchObject([{ misCode: '001', sisPersonId: '0318204' }]);

    expect((await backEnds.call('DELETE', path)).status).toBe(204);
    expect((await backEnds.call('DELETE', path)).status).toBe(404);
    expect((await fromTwo()).response.interestedSystems).toEqual([]);
    expect((await backEnds.get('/mdm/interested-systems')).body).toEqual([
      { misCode: '002', name: expect.any(String) },
    ]);
  });
});

describe('availability', () => {
  test('unavailable → 503 with Retry-After for all other paths of MDM; available again → as before', async () => {
    const set = (available: unknown) => backEnds.call('PUT', '/mdm/availability', { body: { available } });
    expect(await set(false)).toMatchObject({ status: 200, body: { available: false } });
    const notification = newNotification();
    for (const [method, path, body] of [
      ['POST', '/mdm/notifications', notification],
      ['GET', '/mdm/governance-log', undefined],
      ['GET', '/mdm/crosswalk', undefined],
      ['GET', '/mdm/nowhere', undefined],
    ] as const) {
      const called = await backEnds.call(method, path, { body });
      expect([called.status, called.headers.get('retry-after')]).toEqual([503, '1']);
    }
    expect((await backEnds.get('/mdm/availability')).body).toEqual({ available: false });
    expect((await backEnds.get('/movies/Metropolis')).status).toBe(200);

    expect((await set('yes')).status).toBe(422);
    await set(true);
    expect(await readLog(`?executionId=${notification.executionId}`)).toEqual([]);
    expect((await notify(notification)).status).toBe(200);
  });
});
