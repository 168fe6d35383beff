// Seed data of Redwood Coast College (001), the source of the MDM round trip. All persons are invented.

import type { College, Person } from '../college-records.ts';
import { createSection } from './sections.ts';
import { createTerms } from './terms.ts';

const misCode = '001';
const [spring, summer, fall, nextSpring] = createTerms(misCode);

const student = (sisPersonId: string, name: string, cccid: string | null): Person =>
  createPerson({ sisPersonId, name, cccid, domain: 'student.redwoodcoast.example' });
const employee = (sisPersonId: string, name: string, cccid: string | null): Person =>
  createPerson({ sisPersonId, name, cccid, domain: 'redwoodcoast.example' });

const castellanos = employee('0101866', 'Maribel Castellanos', 'AAC1466');
const oyelaran = employee('0102214', 'Tunde Oyelaran', 'AAC2209');
const lindqvist = employee('0103507', 'Saga Lindqvist', 'AAC3581');
const phan = employee('0104018', 'Quoc-Bao Phan', null);
const delacroix = employee('0104772', 'Noémie Delacroix', 'AAD0147');

const persons: readonly Person[] = [
  castellanos,
  oyelaran,
  lindqvist,
  phan,
  delacroix,
  student('0318204', 'Ramona Whitfield', 'ABK7021'),
  student('0318766', 'Deshawn Ibarra', 'ABK7388'),
  student('0319375', 'Yuki Tanabe', 'ABK7904'),
  student('0320991', "Siobhan O'Rourke", 'ABL0112'),
  student('0321180', 'Arturo Beltrán', null),
  student('0322467', 'Ngozi Adeyemi', 'ABL1943'),
  student('0322903', 'Harlan Pruitt', 'ABL2275'),
  student('0323551', 'Leilani Kahananui', null),
  student('0324016', 'Vikram Raghunathan', 'ABL3360'),
];

const main = 'Eureka Point';
const online = 'Online';
const evidence = {
  name: 'Law and evidence, fall 2026',
  primarySisSectionId: '33127',
  sisSectionIds: ['33127', '33128'],
};

const sections = [
  createSection({
    term: spring,
    id: '31842',
    course: 'ENGL-C1000',
    title: 'Academic Reading and Writing',
    instructors: [castellanos],
    units: 4,
    meets: ['MW 09:00-10:50 HUM 112'],
    seats: [28, 8],
    campus: main,
  }),
  createSection({
    term: spring,
    id: '31905',
    course: 'MATH-31',
    title: 'Calculus I',
    instructors: [oyelaran],
    units: 5,
    meets: ['MTWR 11:00-12:05 SCI 208'],
    seats: [35, 10],
    campus: main,
    status: 'Full',
  }),
  createSection({
    term: summer,
    id: '32410',
    course: 'STAT-C1000',
    title: 'Introduction to Statistics',
    instructors: [oyelaran],
    units: 4,
    meets: [],
    seats: [40, 10],
    campus: online,
  }),
  createSection({
    term: fall,
    id: '33012',
    course: 'ENGL-C1000',
    title: 'Academic Reading and Writing',
    instructors: [castellanos],
    units: 4,
    meets: ['MW 09:00-10:50 HUM 112'],
    seats: [28, 8],
    campus: main,
  }),
  createSection({
    term: fall,
    id: '33013',
    course: 'ENGL-C1000',
    title: 'Academic Reading and Writing',
    instructors: [delacroix],
    units: 4,
    meets: ['TR 18:30-20:20 HUM 114'],
    seats: [28, 8],
    campus: main,
  }),
  createSection({
    term: fall,
    id: '33040',
    course: 'MATH-31',
    title: 'Calculus I',
    instructors: [oyelaran],
    units: 5,
    meets: ['MTWR 11:00-12:05 SCI 208'],
    seats: [35, 10],
    campus: main,
  }),
  createSection({
    term: fall,
    id: '33066',
    course: 'BIO-3',
    title: 'Fundamentals of Biology',
    instructors: [lindqvist],
    units: 4,
    meets: ['TR 13:00-14:15 SCI 101', 'T 14:30-17:20 LAB 3'],
    seats: [24, 6],
    campus: main,
  }),
  createSection({
    term: fall,
    id: '33071',
    course: 'CHEM-1A',
    title: 'General Chemistry I',
    instructors: [lindqvist, phan],
    units: 5,
    meets: ['MW 14:00-15:25 SCI 110', 'F 09:00-15:05 LAB 5'],
    seats: [24, 6],
    campus: main,
    status: 'Full',
  }),
  createSection({
    term: fall,
    id: '33127',
    course: 'ADMJ-24',
    title: 'Legal Aspects of Evidence',
    instructors: [delacroix],
    units: 3,
    meets: ['W 18:00-21:05 SOC 20'],
    seats: [20, 5],
    campus: main,
    crosslisting: evidence,
  }),
  createSection({
    term: fall,
    id: '33128',
    course: 'PLGL-24',
    title: 'Evidence for Paralegals',
    instructors: [delacroix],
    units: 3,
    meets: ['W 18:00-21:05 SOC 20'],
    seats: [15, 5],
    campus: main,
    crosslisting: evidence,
  }),
  createSection({
    term: fall,
    id: '33204',
    course: 'CIS-95',
    title: 'Work Experience in Computing',
    instructors: [phan],
    units: [1, 4],
    meets: [],
    seats: [30, 0],
    campus: online,
    weeks: 16,
  }),
  createSection({
    term: fall,
    id: '33219',
    course: 'MUS-17',
    title: 'Community Chorus',
    instructors: [castellanos],
    units: 0.5,
    meets: ['R 19:00-21:50 PAC 1'],
    seats: [60, 0],
    campus: main,
    status: 'Cancelled',
  }),
  // Section ids are reused every year; this one exists in the fall as well.
  createSection({
    term: nextSpring,
    id: '33012',
    course: 'HIST-17A',
    title: 'United States History to 1877',
    instructors: [delacroix],
    units: 3,
    meets: ['TR 09:30-10:55 SOC 11'],
    seats: [40, 10],
    campus: main,
  }),
];

/** All records of college 001. */
export const collegeOne: College = {
  misCode,
  name: 'Redwood Coast College',
  terms: [spring, summer, fall, nextSpring],
  sections,
  persons,
};

interface PersonSeed {
  readonly sisPersonId: string;
  /** First and last name. */
  readonly name: string;
  readonly cccid: string | null;
  readonly domain: string;
}

/** Returns a person. The login id is the initial and the last name, without accents. */
function createPerson({ sisPersonId, name, cccid, domain }: PersonSeed): Person {
  const [firstName = '', lastName = ''] = name.split(' ');
  const loginId = `${firstName[0] ?? ''}${lastName}`
    .normalize('NFD')
    .replace(/[^A-Za-z]/g, '')
    .toLowerCase();
  return {
    misCode,
    sisPersonId,
    firstName,
    lastName,
    emailAddresses: [{ type: 'Institution', emailAddress: `${loginId}@${domain}` }],
    loginId,
    loginSuffix: domain,
    cccid,
  };
}
