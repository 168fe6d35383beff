// A stand-in for a college adaptor: terms, sections and persons of one MIS code. It refuses requests with credentials,
// so that tests detect tokens that the router forwards.

import { type Request, type RequestHandler, Router } from 'express';
import { addPersons } from './college-persons.ts';
import type { Section, Term } from './college-records.ts';
import { createEcho } from './echo.ts';
import { createFaults } from './faults.ts';
import { describeKey } from './idempotency.ts';
import { allowOnly, respondWith, BackEndError } from './json-response.ts';
import { parseRecord, type Store } from './store.ts';

/**
 * Returns the router of one college, to be mounted at its base path. Lists are also served below
 * `/mock/colleges/{mis}`.
 */
export function createCollegeAdaptor(store: Store, mis: string): Router {
  const lists = Router({ caseSensitive: true });
  addTermList(lists, store, mis);
  addSectionList(lists, store, mis);

  const college = Router({ caseSensitive: true });
  college.use(lists);
  addTerm(college, store, mis);
  addSection(college, store, mis);
  addPersons(college, store, mis);

  const adaptor = Router({ caseSensitive: true });
  adaptor.use(refuseCredentials);
  adaptor.use(lists);
  adaptor.use('/mock/colleges/:mis', refuseOtherColleges(mis), college);
  adaptor.get(
    '/mock/idempotency-keys/:key',
    respondWith(({ params }) => describeKey(store, mis, String(params['key']))),
  );
  adaptor.use('/mock/echo', createEcho());
  adaptor.use('/mock/faults', createFaults());
  return adaptor;
}

const refuseCredentials: RequestHandler = (request, _response, next) => {
  if (request.headers.authorization !== undefined || request.headers['x-authorization'] !== undefined) {
    throw new BackEndError('403 authorization-refused', 'this adaptor does not use OAuth, and no token may reach it');
  }
  next();
};

function refuseOtherColleges(mis: string): RequestHandler {
  return ({ params }, _response, next) => {
    if (params['mis'] === mis) return next();
    throw new BackEndError('404 unknown-college', `this adaptor serves the MIS code ${mis} only`);
  };
}

function addTermList(router: Router, store: Store, mis: string): void {
  const list = (request: Request) => {
    refuseOtherMis(request, mis);
    const rows = store.all('SELECT record FROM terms WHERE mis = ? ORDER BY sis_term_id', mis);
    return { status: 200, body: rows.map((row) => parseRecord<Term>(row)) };
  };
  router.route('/terms').get(respondWith(list)).all(allowOnly('GET, HEAD'));
}

function addTerm(router: Router, store: Store, mis: string): void {
  const get = ({ params }: Request) => {
    const id = String(params['sisTermId']);
    const row = store.get('SELECT record FROM terms WHERE mis = ? AND sis_term_id = ?', mis, id);
    if (row === undefined) throw new BackEndError('404 unknown-term', 'the college has no such term');
    return { status: 200, body: parseRecord<Term>(row) };
  };
  router.route('/terms/:sisTermId').get(respondWith(get)).all(allowOnly('GET, HEAD'));
}

function addSectionList(router: Router, store: Store, mis: string): void {
  const list = (request: Request) => {
    refuseOtherMis(request, mis);
    const isTerm = filterOf(request, 'sisTermId');
    const isCourse = filterOf(request, 'sisCourseId');
    const sections = sectionsOf(store, mis);
    const body = sections.filter(({ sisTermId, sisCourseId }) => isTerm(sisTermId) && isCourse(sisCourseId));
    return { status: 200, body };
  };
  router.route('/sections').get(respondWith(list)).all(allowOnly('GET, HEAD'));
}

function addSection(router: Router, store: Store, mis: string): void {
  const get = (request: Request) => {
    const isTerm = filterOf(request, 'sisTermId');
    const id = request.params['sisSectionId'];
    const matching = sectionsOf(store, mis).filter((each) => each.sisSectionId === id && isTerm(each.sisTermId));
    const [section, other] = matching;
    if (section === undefined) throw new BackEndError('404 unknown-section', 'the college has no such section');
    if (other !== undefined) {
      throw new BackEndError('400 term-needed', 'several terms have a section with this id: select one with sisTermId');
    }
    return { status: 200, body: section };
  };
  router.route('/sections/:sisSectionId').get(respondWith(get)).all(allowOnly('GET, HEAD'));
}

function sectionsOf(store: Store, mis: string): Section[] {
  const rows = store.all('SELECT record FROM sections WHERE mis = ? ORDER BY sis_term_id, sis_section_id', mis);
  return rows.map((row) => parseRecord<Section>(row));
}

/** Checks the optional query parameter `mis`. @throws BackEndError 400 when it names another college */
function refuseOtherMis(request: Request, mis: string): void {
  if (valuesOf(request, 'mis').every((value) => value === mis)) return;
  throw new BackEndError('400 mis-mismatch', `the query parameter mis must be the college of the path, ${mis}`);
}

/**
 * Returns a predicate for a query parameter: it accepts the parameter's values, or every value when the parameter has
 * none.
 */
function filterOf(request: Request, name: string): (value: string) => boolean {
  const accepted = valuesOf(request, name);
  return (value) => accepted.length === 0 || accepted.includes(value);
}

/** Returns the non-empty values of a query parameter. */
function valuesOf(request: Request, name: string): string[] {
  const query = new URL(request.originalUrl, 'http://adaptor').searchParams;
  return query.getAll(name).filter((value) => value !== '');
}
