// Seed data of the data warehouse: a sync for each college that has records, derived from them, and an empty sync for a
// college without an adaptor.

import { randomUUID } from 'node:crypto';
import type { College, Section } from '../college-records.ts';
import type { CourseShell, Enrollment, Sync } from '../data-warehouse.ts';

const stateByTerm: Readonly<Record<string, Enrollment['state']>> = {
  '2026SP': 'completed',
  '2026SU': 'completed',
  '2026FA': 'active',
  '2027SP': 'invited',
};

/** Returns one sync per college, and an empty sync for a college that has no adaptor. */
export function createSyncs(colleges: readonly College[], generatedAt: Date): Sync[] {
  const joined: College = { misCode: '003', name: 'Mojave Wells College', terms: [], sections: [], persons: [] };
  return [...colleges, joined].map((college) => createSync(college, generatedAt));
}

function createSync(college: College, generatedAt: Date): Sync {
  const sections = college.sections.filter(({ status }) => status !== 'Cancelled');
  const courseShells = sections.map((section) => createCourseShell(college, section));
  const enrollments = sections.flatMap((section, index) => createEnrollments(college, section, index));
  const distinct = (role: Enrollment['role']) =>
    new Set(enrollments.filter((each) => each.role === role).map((each) => each.sisPersonId)).size;
  return {
    collegeId: college.misCode,
    collegeName: college.name,
    syncId: randomUUID(),
    generatedAt: generatedAt.toISOString(),
    sisTermIds: college.terms.map(({ sisTermId }) => sisTermId),
    counts: {
      courseShells: courseShells.length,
      enrollments: enrollments.length,
      instructors: distinct('teacher'),
      students: distinct('student'),
    },
    courseShells,
    enrollments,
  };
}

function createCourseShell(college: College, section: Section): CourseShell {
  const { sisTermId, sisSectionId, sisCourseId, title } = section;
  const courseShellId = shellIdOf(college, section);
  return { courseShellId, sisTermId, sisSectionId, sisCourseId, title, published: sisTermId !== '2027SP' };
}

/** Distributes the students over the sections: each section gets every third student. */
function createEnrollments(college: College, section: Section, index: number): Enrollment[] {
  const courseShellId = shellIdOf(college, section);
  const teachers = new Set(college.sections.flatMap(({ instructors }) => instructors.map((each) => each.sisPersonId)));
  const enroll = (role: Enrollment['role']) => (person: { readonly sisPersonId: string }) => ({
    courseShellId,
    sisPersonId: person.sisPersonId,
    role,
    state: stateByTerm[section.sisTermId] ?? 'active',
  });
  const students = college.persons
    .filter(({ sisPersonId }) => !teachers.has(sisPersonId))
    .filter((_student, position) => position % 3 === index % 3);
  return [...section.instructors.map(enroll('teacher')), ...students.map(enroll('student'))];
}

function shellIdOf({ misCode }: College, { sisTermId, sisSectionId }: Section): string {
  return `${misCode}-${sisTermId}-${sisSectionId}`;
}
