// Seed data of the academic terms, which both colleges share.

import type { Term } from '../college-records.ts';

/** Returns the terms of one college, oldest first. */
export function createTerms(misCode: string): [spring: Term, summer: Term, fall: Term, nextSpring: Term] {
  return [spring2026(misCode), summer2026(misCode), fall2026(misCode), spring2027(misCode)];
}

function spring2026(misCode: string): Term {
  return {
    misCode,
    sisTermId: '2026SP',
    year: 2026,
    session: 'Spring',
    type: 'Semester',
    description: 'Spring 2026',
    start: '2026-01-26',
    end: '2026-05-29',
    preRegistrationStart: '2025-11-03',
    preRegistrationEnd: '2025-11-14',
    registrationStart: '2025-11-17',
    registrationEnd: '2026-02-06',
    addDeadline: '2026-02-06',
    dropDeadline: '2026-02-08',
    withdrawalDeadline: '2026-04-24',
    feeDeadline: '2026-01-16',
    censusDates: ['2026-02-09'],
  };
}

function summer2026(misCode: string): Term {
  return {
    misCode,
    sisTermId: '2026SU',
    year: 2026,
    session: 'Summer',
    type: 'Intersession',
    description: 'Summer 2026',
    start: '2026-06-15',
    end: '2026-08-07',
    preRegistrationStart: '2026-04-06',
    preRegistrationEnd: '2026-04-10',
    registrationStart: '2026-04-13',
    registrationEnd: '2026-06-18',
    addDeadline: '2026-06-18',
    dropDeadline: '2026-06-21',
    withdrawalDeadline: '2026-07-17',
    feeDeadline: '2026-06-05',
    censusDates: ['2026-06-22', '2026-07-13'],
  };
}

function fall2026(misCode: string): Term {
  return {
    misCode,
    sisTermId: '2026FA',
    year: 2026,
    session: 'Fall',
    type: 'Semester',
    description: 'Fall 2026',
    start: '2026-08-24',
    end: '2026-12-18',
    preRegistrationStart: '2026-04-20',
    preRegistrationEnd: '2026-05-01',
    registrationStart: '2026-05-04',
    registrationEnd: '2026-09-04',
    addDeadline: '2026-09-04',
    dropDeadline: '2026-09-06',
    withdrawalDeadline: '2026-11-20',
    feeDeadline: '2026-08-14',
    censusDates: ['2026-09-08', '2026-10-26'],
  };
}

function spring2027(misCode: string): Term {
  return {
    misCode,
    sisTermId: '2027SP',
    year: 2027,
    session: 'Spring',
    type: 'Semester',
    description: 'Spring 2027',
    start: '2027-01-25',
    end: '2027-05-28',
    preRegistrationStart: '2026-11-02',
    preRegistrationEnd: '2026-11-13',
    registrationStart: '2026-11-16',
    registrationEnd: '2027-02-05',
    addDeadline: '2027-02-05',
    dropDeadline: '2027-02-07',
    withdrawalDeadline: '2027-04-23',
    feeDeadline: '2027-01-15',
    censusDates: ['2027-02-08'],
  };
}
