// The HTTP routes of a college adaptor's persons: GET, POST, PATCH, PUT, DELETE.

import type { Router } from 'express';
import { applyOnce, idempotencyKeyOf } from './idempotency.ts';
import { type JsonResponse, allowOnly, respondWith, BackEndError } from './json-response.ts';
import { createPerson, mergePerson } from './person-fields.ts';
import { createPersonStore, type PersonStore, type WriteOrigin } from './person-store.ts';
import { parseJsonRequest, readBody, requireText } from './request-body.ts';
import type { Store } from './store.ts';

/** Adds `/persons` and `/persons/{sisPersonId}` to the router of one college. */
export function addPersons(college: Router, store: Store, mis: string): void {
  const persons = createPersonStore(store, mis);
  const read = (handle: (sisPersonId: string) => unknown) =>
    respondWith(({ params }) => ({ status: 200, body: handle(String(params['sisPersonId'])) }));
  const write = (apply: PersonWrite) =>
    respondWith(async (request) => {
      const body = await readBody(request);
      const origin = { method: request.method, idempotencyKey: idempotencyKeyOf(request) };
      const identity = { misCode: mis, sisPersonId: String(request.params['sisPersonId']) };
      const fields = () => parseJsonRequest(request, body);
      return applyOnce(store, { mis, request, body }, () => apply({ persons, identity, fields, origin }));
    });
  college
    .route('/persons')
    .get(read(() => persons.list()))
    .post(write(addPerson))
    .all(allowOnly('GET, HEAD, POST'));
  college
    .route('/persons/:sisPersonId')
    .get(read((sisPersonId) => persons.get(sisPersonId)))
    .patch(write(patchPerson))
    .put(write(putPerson))
    .delete(write(deletePerson))
    .all(allowOnly('GET, HEAD, PATCH, PUT, DELETE'));
}

interface PersonWriteContext {
  readonly persons: PersonStore;
  readonly identity: { readonly misCode: string; readonly sisPersonId: string };
  /** Returns the JSON object in the request body. @throws BackEndError when the body is not a JSON object */
  readonly fields: () => Record<string, unknown>;
  readonly origin: WriteOrigin;
}

type PersonWrite = (context: PersonWriteContext) => JsonResponse;

const addPerson: PersonWrite = ({ persons, identity: { misCode }, fields, origin }) => {
  const given = fields();
  const person = createPerson({ misCode, sisPersonId: requireText(given, 'sisPersonId') }, given);
  if (persons.has(person.sisPersonId)) {
    throw new BackEndError('409 person-exists', 'the college already has a person with this sisPersonId');
  }
  persons.save(person, origin);
  // Relative to the request's URL (RFC 9110 section 10.2.2), since clients of the router use another path.
  return { status: 201, headers: { location: `persons/${encodeURIComponent(person.sisPersonId)}` }, body: person };
};

const patchPerson: PersonWrite = ({ persons, identity, fields, origin }) => {
  const given = fields();
  const person = mergePerson(persons.get(identity.sisPersonId), given);
  persons.save(person, origin);
  return { status: 200, body: person };
};

const putPerson: PersonWrite = ({ persons, identity, fields, origin }) => {
  const person = createPerson(identity, fields());
  const status = persons.has(identity.sisPersonId) ? 200 : 201;
  persons.save(person, origin);
  return { status, body: person };
};

const deletePerson: PersonWrite = ({ persons, identity, origin }) => {
  persons.remove(identity.sisPersonId, origin);
  return { status: 204 };
};
