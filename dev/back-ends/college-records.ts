// Types of the records that a college adaptor serves.

/** An email address of a person. */
export interface EmailAddress {
  readonly type: string;
  readonly emailAddress: string;
}

/** A person of the student information system. Unknown fields of a request are stored as well. */
export interface Person {
  readonly misCode: string;
  readonly sisPersonId: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly emailAddresses: readonly EmailAddress[];
  readonly loginId: string;
  readonly loginSuffix: string;
  /** The statewide id; null until it is assigned. */
  readonly cccid: string | null;
  readonly [unknownField: string]: unknown;
}

/** An academic term. Dates are `YYYY-MM-DD`. */
export interface Term extends Deadlines {
  readonly misCode: string;
  readonly sisTermId: string;
  readonly year: number;
  readonly session: 'Winter' | 'Spring' | 'Summer' | 'Fall';
  readonly type: 'Semester' | 'Intersession';
  readonly start: string;
  readonly end: string;
  readonly censusDates: readonly string[];
  readonly description: string;
}

/** Registration dates of a term or section, `YYYY-MM-DD`. */
export interface Deadlines {
  readonly preRegistrationStart: string;
  readonly preRegistrationEnd: string;
  readonly registrationStart: string;
  readonly registrationEnd: string;
  readonly addDeadline: string;
  readonly dropDeadline: string;
  readonly withdrawalDeadline: string;
  readonly feeDeadline: string;
}

/** An instructor of a section. */
export interface Instructor {
  readonly firstName: string;
  readonly lastName: string;
  readonly emailAddress: string;
  readonly sisPersonId: string;
}

/** A weekly meeting of a section. */
export interface MeetingTime {
  readonly days: readonly string[];
  /** `HH:MM`, local time. */
  readonly start: string;
  readonly end: string;
  readonly building: string;
  readonly room: string;
  readonly instructionalMethod: string;
}

/** Sections that meet together under several course names. */
export interface CrosslistingDetail {
  readonly name: string;
  readonly primarySisSectionId: string;
  readonly sisSectionIds: readonly string[];
}

/** One offering of a course in a term; `sisSectionId` is unique within its term only. */
export interface Section extends Deadlines {
  readonly sisSectionId: string;
  readonly sisTermId: string;
  readonly sisCourseId: string;
  readonly instructors: readonly Instructor[];
  readonly maxEnrollments: number;
  readonly maxWaitlist: number;
  readonly minimumUnits: number;
  readonly maximumUnits: number;
  readonly meetingTimes: readonly MeetingTime[];
  readonly weeksOfInstruction: number;
  readonly campus: string;
  readonly start: string;
  readonly end: string;
  readonly censusDate: string;
  readonly title: string;
  readonly status: 'Active' | 'Cancelled' | 'Full';
  readonly crosslistingDetail: CrosslistingDetail | null;
}

/** All records of one adaptor. */
export interface College {
  readonly misCode: string;
  readonly name: string;
  readonly terms: readonly Term[];
  readonly sections: readonly Section[];
  readonly persons: readonly Person[];
}
