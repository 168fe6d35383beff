// Reads and writes the persons of one college. Every write is recorded in a journal.

import type { Person } from './college-records.ts';
import { BackEndError } from './json-response.ts';
import { parseRecord, type Store } from './store.ts';

/** The request that caused a write. */
export interface WriteOrigin {
  readonly method: string;
  readonly idempotencyKey: string | undefined;
}

/** The persons of one college. */
export interface PersonStore {
  list(): Person[];
  /** @throws BackEndError 404 */
  get(sisPersonId: string): Person;
  has(sisPersonId: string): boolean;
  /** Creates or replaces a person. @throws BackEndError 409 when another person of the college has the cccid */
  save(person: Person, origin: WriteOrigin): void;
  /** @throws BackEndError 404 */
  remove(sisPersonId: string, origin: WriteOrigin): void;
}

/** Returns the persons of one college. */
export function createPersonStore(store: Store, mis: string): PersonStore {
  const find = (sisPersonId: string) =>
    store.get('SELECT record FROM persons WHERE mis = ? AND sis_person_id = ?', mis, sisPersonId);
  const record = (sisPersonId: string, { method, idempotencyKey }: WriteOrigin) => {
    const row = [mis, sisPersonId, method, idempotencyKey ?? null, new Date().toISOString()] as const;
    const columns = 'mis, sis_person_id, method, idempotency_key, written_at';
    store.run(`INSERT INTO person_writes (${columns}) VALUES (?, ?, ?, ?, ?)`, ...row);
  };
  const get = (sisPersonId: string) => {
    const row = find(sisPersonId);
    if (row === undefined) throw new BackEndError('404 unknown-person', 'the college has no person with this id');
    return parseRecord<Person>(row);
  };
  return {
    list: () =>
      store
        .all('SELECT record FROM persons WHERE mis = ? ORDER BY sis_person_id', mis)
        .map((row) => parseRecord<Person>(row)),
    get,
    has: (sisPersonId) => find(sisPersonId) !== undefined,
    save(person, origin) {
      refuseTakenCccid(store, person);
      insertPerson(store, person);
      record(person.sisPersonId, origin);
    },
    remove(sisPersonId, origin) {
      get(sisPersonId);
      store.run('DELETE FROM persons WHERE mis = ? AND sis_person_id = ?', mis, sisPersonId);
      record(sisPersonId, origin);
    },
  };
}

/** Writes a person without a journal entry, for the seed. */
export function insertPerson(store: Store, person: Person): void {
  const row = [person.misCode, person.sisPersonId, person.cccid, JSON.stringify(person)] as const;
  store.run(
    `INSERT INTO persons VALUES (?, ?, ?, ?)
     ON CONFLICT (mis, sis_person_id) DO UPDATE SET cccid = excluded.cccid, record = excluded.record`,
    ...row,
  );
}

function refuseTakenCccid(store: Store, { misCode, sisPersonId, cccid }: Person): void {
  const sql = 'SELECT 1 FROM persons WHERE mis = ? AND cccid = ? AND sis_person_id <> ?';
  if (store.get(sql, misCode, cccid, sisPersonId) !== undefined) {
    throw new BackEndError('409 cccid-taken', 'another person of this college has this cccid');
  }
}
