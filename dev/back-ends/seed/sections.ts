// Builds section records. Dates and deadlines come from the term.

import type { CrosslistingDetail, Instructor, MeetingTime, Person, Section, Term } from '../college-records.ts';

/** The properties in which sections differ. */
export interface SectionSeed {
  readonly term: Term;
  readonly id: string;
  readonly course: string;
  readonly title: string;
  readonly instructors: readonly Person[];
  /** Fixed number of units, or minimum and maximum for variable-unit courses. */
  readonly units: number | readonly [number, number];
  /** `<days> <start>-<end> <building> <room>`, days as letters of MTWRFSU; empty for online courses. */
  readonly meets: readonly string[];
  /** Maximum enrolments and length of the waiting list. */
  readonly seats: readonly [number, number];
  readonly campus: string;
  /** Weeks of instruction; default 17, or 6 in summer. */
  readonly weeks?: number;
  readonly status?: Section['status'];
  readonly crosslisting?: CrosslistingDetail;
}

const dayNames: Readonly<Record<string, string>> = {
  M: 'Monday',
  T: 'Tuesday',
  W: 'Wednesday',
  R: 'Thursday',
  F: 'Friday',
  S: 'Saturday',
  U: 'Sunday',
};

/** Returns a section record. */
export function createSection(seed: SectionSeed): Section {
  const { term, units } = seed;
  const [minimumUnits, maximumUnits] = typeof units === 'number' ? [units, units] : units;
  return {
    sisSectionId: seed.id,
    sisTermId: term.sisTermId,
    sisCourseId: seed.course,
    title: seed.title,
    status: seed.status ?? 'Active',
    campus: seed.campus,
    instructors: seed.instructors.map(toInstructor),
    maxEnrollments: seed.seats[0],
    maxWaitlist: seed.seats[1],
    minimumUnits,
    maximumUnits,
    weeksOfInstruction: seed.weeks ?? (term.session === 'Summer' ? 6 : 17),
    meetingTimes: seed.meets.map(parseMeeting),
    start: term.start,
    end: term.end,
    censusDate: term.censusDates[0] ?? term.start,
    preRegistrationStart: term.preRegistrationStart,
    preRegistrationEnd: term.preRegistrationEnd,
    registrationStart: term.registrationStart,
    registrationEnd: term.registrationEnd,
    addDeadline: term.addDeadline,
    dropDeadline: term.dropDeadline,
    withdrawalDeadline: term.withdrawalDeadline,
    feeDeadline: term.feeDeadline,
    crosslistingDetail: seed.crosslisting ?? null,
  };
}

function toInstructor({ firstName, lastName, sisPersonId, emailAddresses }: Person): Instructor {
  return { firstName, lastName, emailAddress: emailAddresses[0]?.emailAddress ?? '', sisPersonId };
}

function parseMeeting(text: string): MeetingTime {
  const [days = '', times = '', building = '', room = ''] = text.split(' ');
  const [start = '', end = ''] = times.split('-');
  return {
    days: [...days].map((letter) => dayNames[letter] ?? letter),
    start,
    end,
    building,
    room,
    instructionalMethod: building === 'LAB' ? 'Laboratory' : 'Lecture',
  };
}
