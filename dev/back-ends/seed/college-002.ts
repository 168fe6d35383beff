// Seed data of Alder Valley College (002), the interested college of the MDM round trip. All persons are invented.

import type { College, Person } from '../college-records.ts';
import { createSection } from './sections.ts';
import { createTerms } from './terms.ts';

const misCode = '002';
const [spring, summer, fall, nextSpring] = createTerms(misCode);

const castellanos = person('B00400219', 'Maribel Castellanos', 'AAC1466');
const haugen = person('B00400787', 'Torvald Haugen', 'AAF0950');
const mbatha = person('B00401356', 'Lindiwe Mbatha', 'AAF1128');

const persons: readonly Person[] = [
  castellanos,
  haugen,
  mbatha,
  person('B00417733', 'Ramona Whitfield', 'ABK7021'),
  person('B00418052', "Siobhan O'Rourke", null),
  person('B00418990', 'Caleb Stonehouse', 'ABP0334'),
  person('B00419407', 'Fatima Benhaddou', 'ABP0518'),
  person('B00421215', 'Jun-ho Seong', null),
  person('B00421960', 'Ngozi Adeyemi', 'ABL1943'),
  person('B00422384', 'Priscilla Tadlock', 'ABP1277'),
];

const main = 'Alder Valley';

const sections = [
  createSection({
    term: spring,
    id: '20118',
    course: 'PSYC-C1000',
    title: 'Introduction to Psychology',
    instructors: [mbatha],
    units: 3,
    meets: ['MW 11:00-12:25 B 204'],
    seats: [45, 15],
    campus: main,
  }),
  createSection({
    term: summer,
    id: '20440',
    course: 'ENGL-C1000',
    title: 'Academic Reading and Writing',
    instructors: [castellanos],
    units: 4,
    meets: [],
    seats: [28, 8],
    campus: 'Online',
  }),
  createSection({
    term: fall,
    id: '20601',
    course: 'ENGL-C1000',
    title: 'Academic Reading and Writing',
    instructors: [castellanos],
    units: 4,
    meets: ['F 09:00-12:50 B 110'],
    seats: [28, 8],
    campus: main,
  }),
  createSection({
    term: fall,
    id: '20633',
    course: 'WELD-101',
    title: 'Introduction to Welding',
    instructors: [haugen],
    units: 3,
    meets: ['TR 17:00-17:50 V 2', 'TR 18:00-20:50 LAB 9'],
    seats: [18, 4],
    campus: main,
    status: 'Full',
  }),
  createSection({
    term: fall,
    id: '20650',
    course: 'PSYC-C1000',
    title: 'Introduction to Psychology',
    instructors: [mbatha],
    units: 3,
    meets: ['TR 11:00-12:25 B 204'],
    seats: [45, 15],
    campus: main,
  }),
  createSection({
    term: nextSpring,
    id: '20902',
    course: 'WELD-102',
    title: 'Gas Metal Arc Welding',
    instructors: [haugen],
    units: [3, 5],
    meets: ['TR 18:00-20:50 LAB 9'],
    seats: [18, 4],
    campus: main,
  }),
];

/** All records of college 002. */
export const collegeTwo: College = {
  misCode,
  name: 'Alder Valley College',
  terms: [spring, summer, fall, nextSpring],
  sections,
  persons,
};

/** At this college, login ids are derived from the id number. */
function person(sisPersonId: string, name: string, cccid: string | null): Person {
  const [firstName = '', lastName = ''] = name.split(' ');
  const loginId = `av${sisPersonId.slice(3)}`;
  const plainName = name
    .normalize('NFD')
    .replace(/[^A-Za-z ]/g, '')
    .toLowerCase();
  return {
    misCode,
    sisPersonId,
    firstName,
    lastName,
    emailAddresses: [
      { type: 'Institution', emailAddress: `${loginId}@aldervalley.example` },
      { type: 'Personal', emailAddress: `${plainName.replace(' ', '.')}@mail.example` },
    ],
    loginId,
    loginSuffix: 'aldervalley.example',
    cccid,
  };
}
