// A stand-in for the learning-management data warehouse: serves the last sync of each college.

import { type Request, Router } from 'express';
import { allowOnly, respondWith, BackEndError } from './json-response.ts';
import { parseRecord, type Store } from './store.ts';

/** The data that the warehouse copied from a college's learning management system. */
export interface Sync {
  readonly collegeId: string;
  readonly collegeName: string;
  readonly syncId: string;
  /** Time of the sync, ISO 8601. */
  readonly generatedAt: string;
  readonly sisTermIds: readonly string[];
  readonly counts: Readonly<Record<'courseShells' | 'enrollments' | 'instructors' | 'students', number>>;
  readonly courseShells: readonly CourseShell[];
  readonly enrollments: readonly Enrollment[];
}

/** A course in the learning management system. */
export interface CourseShell {
  readonly courseShellId: string;
  readonly sisTermId: string;
  readonly sisSectionId: string;
  readonly sisCourseId: string;
  readonly title: string;
  readonly published: boolean;
}

/** A person's role in a course. */
export interface Enrollment {
  readonly courseShellId: string;
  readonly sisPersonId: string;
  readonly role: 'teacher' | 'student';
  readonly state: 'active' | 'invited' | 'completed';
}

/** Returns the router of the warehouse, to be mounted at `/lms-dw`. */
export function createDataWarehouse(store: Store): Router {
  const router = Router({ caseSensitive: true });
  const get = ({ params }: Request) => {
    const row = store.get('SELECT record FROM syncs WHERE college_id = ?', String(params['collegeId']));
    if (row === undefined) throw new BackEndError('404 unknown-college', 'the warehouse has no data for this college');
    return { status: 200, body: parseRecord<Sync>(row) };
  };
  router.route('/:collegeId/dataSync/').get(respondWith(get)).all(allowOnly('GET, HEAD'));
  return router;
}
