// Fills a new store with the seed data of all stand-ins.

import type { College } from '../college-records.ts';
import { titleKey } from '../movies.ts';
import { insertPerson } from '../person-store.ts';
import type { Store } from '../store.ts';
import { collegeOne } from './college-001.ts';
import { collegeTwo } from './college-002.ts';
import { crosswalk, interestedSystems } from './mdm.ts';
import { movies } from './movies.ts';
import { createSyncs } from './data-warehouse.ts';

/** Inserts the seed data. Call once, in a transaction. */
export function seed(store: Store): void {
  const colleges = [collegeOne, collegeTwo];
  for (const college of colleges) seedCollege(store, college);
  for (const sync of createSyncs(colleges, new Date())) {
    store.run('INSERT INTO syncs VALUES (?, ?)', sync.collegeId, JSON.stringify(sync));
  }
  for (const movie of movies) {
    store.run('INSERT INTO movies VALUES (?, ?)', titleKey(movie.title), JSON.stringify(movie));
  }
  for (const { misCode, name } of interestedSystems) {
    store.run('INSERT INTO interested_systems VALUES (?, ?)', misCode, name);
  }
  seedCrosswalk(store, colleges);
}

function seedCollege(store: Store, { misCode, terms, sections, persons }: College): void {
  for (const term of terms) {
    store.run('INSERT INTO terms VALUES (?, ?, ?)', misCode, term.sisTermId, JSON.stringify(term));
  }
  for (const section of sections) {
    const { sisTermId, sisSectionId, sisCourseId } = section;
    const row = [misCode, sisTermId, sisSectionId, sisCourseId, JSON.stringify(section)] as const;
    store.run('INSERT INTO sections VALUES (?, ?, ?, ?, ?)', ...row);
  }
  for (const person of persons) insertPerson(store, person);
}

/** Each golden record gets the cccid that its person has at the first college. */
function seedCrosswalk(store: Store, colleges: readonly College[]): void {
  const now = new Date().toISOString();
  for (const { goldenId, persons } of crosswalk) {
    const [first] = persons;
    const known = colleges
      .find(({ misCode }) => misCode === first.misCode)
      ?.persons.find(({ sisPersonId }) => sisPersonId === first.sisPersonId);
    store.run('INSERT INTO golden_records VALUES (?, ?, ?, ?)', goldenId, known?.cccid ?? null, first.misCode, now);
    for (const { misCode, sisPersonId } of persons) {
      store.run('INSERT INTO crosswalk VALUES (?, ?, ?)', misCode, sisPersonId, goldenId);
    }
  }
}
