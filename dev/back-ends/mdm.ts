// A stand-in for master data management (MDM): accepts notifications of changed persons and returns the interested
// systems.

import { randomUUID } from 'node:crypto';
import { type Request, type RequestHandler, Router } from 'express';
import { findEntries, logOnce } from './governance-log.ts';
import { record } from './history.ts';
import { type JsonResponse, allowOnly, respondWith, BackEndError } from './json-response.ts';
import { parseJsonRequest, readBody, requireText } from './request-body.ts';
import type { Store } from './store.ts';

/** A college that must receive a change: its own id for the person, and the new cccid. */
export interface InterestedSystem {
  readonly misCode: string;
  readonly sisPersonId: string;
  readonly cccid: string;
}

/** The response to a notification. */
export interface NotificationResponse {
  readonly notificationId: string;
  readonly interestedSystems: readonly InterestedSystem[];
}

/** Returns the router of MDM, to be mounted at `/mdm`. The availability switch is on again after a restart. */
export function createMdm(store: Store): Router {
  const router = Router({ caseSensitive: true });
  addAvailability(router);
  addDeliveries(router, store);
  addReads(router, store);
  addInterestedSystems(router, store);
  return router;
}

/** Adds a switch that makes MDM unavailable, for tests. */
function addAvailability(router: Router): void {
  let available = true;
  const describe = () => ({ status: 200, body: { available } });
  const set = async (request: Request) => {
    const { available: requested } = parseJsonRequest(request, await readBody(request));
    if (typeof requested !== 'boolean') throw new BackEndError('422 invalid-field', 'available must be true or false');
    available = requested;
    return describe();
  };
  const refuseWhileAway: RequestHandler = (_request, _response, next) => {
    if (available) return next();
    throw new BackEndError(
      '503 away',
      'MDM is switched off: PUT {"available":true} to /mdm/availability to switch it on',
      {
        'retry-after': '1',
      },
    );
  };
  router.route('/availability').get(respondWith(describe)).put(respondWith(set)).all(allowOnly('GET, HEAD, PUT'));
  router.use(refuseWhileAway);
}

function addDeliveries(router: Router, store: Store): void {
  const notify = async (request: Request): Promise<JsonResponse> => {
    const content = parseJsonRequest(request, await readBody(request));
    const cccid = content['cccid'] === undefined ? null : requireText(content, 'cccid');
    const key = { kind: 'notification', status: 'recorded', ...readPerson(content), cccid } as const;
    const changedAt = readTime(content, 'changedAt');
    const work = () => ({
      notificationId: randomUUID(),
      interestedSystems: updateGoldenRecord(store, { ...key, changedAt }),
    });
    const { response, isNew } = logOnce<NotificationResponse>(store, key, { content, work });
    record(request, { actor: 'mdm', event: 'notified', executionId: key.executionId, effective: isNew });
    return { status: 200, body: response };
  };
  const recordShare = async (request: Request): Promise<JsonResponse> => {
    const content = parseJsonRequest(request, await readBody(request));
    const cccid = content['cccid'] === undefined ? null : requireText(content, 'cccid');
    const key = { kind: 'share', status: requireText(content, 'status'), ...readPerson(content), cccid } as const;
    const { response, isNew } = logOnce(store, key, { content, work: () => ({ shareId: randomUUID() }) });
    return { status: isNew ? 201 : 200, body: { ...response, ...currentCccid(store, key) } };
  };
  router.route('/notifications').post(respondWith(notify)).all(allowOnly('POST'));
  router.route('/shares').post(respondWith(recordShare)).all(allowOnly('POST'));
}

function readPerson(content: Readonly<Record<string, unknown>>) {
  return {
    executionId: requireText(content, 'executionId'),
    misCode: requireText(content, 'misCode'),
    sisPersonId: requireText(content, 'sisPersonId'),
  };
}

/** Reads an RFC 3339 time; returns the current time when the field is absent. */
function readTime(content: Readonly<Record<string, unknown>>, name: string): string {
  if (content[name] === undefined) return new Date().toISOString();
  const time = Date.parse(requireText(content, name));
  if (Number.isNaN(time)) throw new BackEndError('422 invalid-field', `${name} must be a time (RFC 3339)`);
  return new Date(time).toISOString();
}

interface PersonUpdate {
  readonly misCode: string;
  readonly sisPersonId: string;
  /** Null when the cccid did not change: there is nothing to share. */
  readonly cccid: string | null;
  /** RFC 3339, UTC. */
  readonly changedAt: string;
}

/**
 * Updates the golden record of a person; an unmapped person gets a new record. Notifications can arrive out of order,
 * so a notification that is older than the record changes nothing.
 * @returns the colleges that must receive the change
 */
function updateGoldenRecord(store: Store, update: PersonUpdate): InterestedSystem[] {
  const { misCode, sisPersonId, cccid, changedAt } = update;
  const known = store.get('SELECT golden_id FROM crosswalk WHERE mis = ? AND sis_person_id = ?', misCode, sisPersonId);
  const goldenId = String(known?.['golden_id'] ?? randomUUID());
  if (known === undefined) {
    store.run('INSERT INTO golden_records VALUES (?, NULL, ?, ?)', goldenId, misCode, changedAt);
    store.run('INSERT INTO crosswalk VALUES (?, ?, ?)', misCode, sisPersonId, goldenId);
  }
  if (cccid === null) return [];
  const { updatedAt } =
    store.get('SELECT updated_at AS updatedAt FROM golden_records WHERE golden_id = ?', goldenId) ?? {};
  if (String(updatedAt) > changedAt) return [];
  const change = 'UPDATE golden_records SET cccid = ?, source_mis = ?, updated_at = ? WHERE golden_id = ?';
  store.run(change, cccid, misCode, changedAt, goldenId);
  const interested = store.all(
    `SELECT mis, sis_person_id FROM interested_systems JOIN crosswalk USING (mis)
     WHERE golden_id = ? AND mis <> ? ORDER BY mis`,
    goldenId,
    misCode,
  );
  return interested.map((row) => ({ misCode: String(row['mis']), sisPersonId: String(row['sis_person_id']), cccid }));
}

/** Returns the current cccid when it has changed since the shared cccid was sent; otherwise an empty object. */
function currentCccid(store: Store, shared: Omit<PersonUpdate, 'changedAt'> & { status: string }): { cccid?: string } {
  const { misCode, sisPersonId, cccid, status } = shared;
  if (status !== 'shared' || cccid === null) return {};
  const golden = store.get(
    'SELECT cccid FROM golden_records JOIN crosswalk USING (golden_id) WHERE mis = ? AND sis_person_id = ?',
    misCode,
    sisPersonId,
  )?.['cccid'];
  return typeof golden === 'string' && golden !== cccid ? { cccid: golden } : {};
}

function addReads(router: Router, store: Store): void {
  const log = (request: Request) => {
    const query = new URL(request.originalUrl, 'http://mdm').searchParams;
    const filter = (name: string) => query.get(name) || undefined;
    const body = findEntries(store, { executionId: filter('executionId'), sisPersonId: filter('sisPersonId') });
    return { status: 200, body };
  };
  const listOf = (sql: string) => respondWith(() => ({ status: 200, body: store.all(sql) }));
  router.route('/governance-log').get(respondWith(log)).all(allowOnly('GET, HEAD'));
  router
    .route('/crosswalk')
    .get(
      listOf(
        `SELECT golden_id AS goldenId, mis AS misCode, sis_person_id AS sisPersonId
         FROM crosswalk ORDER BY golden_id, mis`,
      ),
    )
    .all(allowOnly('GET, HEAD'));
  router
    .route('/golden-records')
    .get(
      listOf(
        `SELECT golden_id AS goldenId, cccid, source_mis AS sourceMisCode, updated_at AS updatedAt
         FROM golden_records ORDER BY golden_id`,
      ),
    )
    .all(allowOnly('GET, HEAD'));
}

function addInterestedSystems(router: Router, store: Store): void {
  const list = () => store.all('SELECT mis AS misCode, name FROM interested_systems ORDER BY mis');
  const find = (mis: string) => store.get('SELECT mis AS misCode, name FROM interested_systems WHERE mis = ?', mis);
  const register = async (request: Request): Promise<JsonResponse> => {
    const mis = String(request.params['mis']);
    const body = await readBody(request);
    const name = body.length === 0 ? mis : requireText(parseJsonRequest(request, body), 'name');
    const status = find(mis) === undefined ? 201 : 200;
    store.run('INSERT OR REPLACE INTO interested_systems VALUES (?, ?)', mis, name);
    return { status, body: find(mis) };
  };
  const remove = ({ params }: Request): JsonResponse => {
    const mis = String(params['mis']);
    if (find(mis) === undefined) throw new BackEndError('404 unknown-system', 'no such system is registered');
    store.run('DELETE FROM interested_systems WHERE mis = ?', mis);
    return { status: 204 };
  };
  router
    .route('/interested-systems')
    .get(respondWith(() => ({ status: 200, body: list() })))
    .all(allowOnly('GET, HEAD'));
  router
    .route('/interested-systems/:mis')
    .put(respondWith(register))
    .delete(respondWith(remove))
    .all(allowOnly('PUT, DELETE'));
}
