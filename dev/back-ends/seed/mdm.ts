// Seed data of MDM: the interested systems, and the crosswalk between the colleges' person ids.

/** An interested system. */
export interface SystemSeed {
  readonly misCode: string;
  readonly name: string;
}

/** A golden record with the person's records at the colleges. */
export interface CrosswalkSeed {
  readonly goldenId: string;
  /** At most one record per college. */
  readonly persons: readonly [PersonSeed, ...PersonSeed[]];
}

/** The id of a person at a college. */
export interface PersonSeed {
  readonly misCode: string;
  readonly sisPersonId: string;
}

/** The registered interested systems. */
export const interestedSystems: readonly SystemSeed[] = [
  { misCode: '002', name: 'Student information system of Alder Valley College' },
];

const one = (sisPersonId: string): PersonSeed => ({ misCode: '001', sisPersonId });
const two = (sisPersonId: string): PersonSeed => ({ misCode: '002', sisPersonId });

/** The mapped persons. Some persons who belong to only one college are not mapped. */
export const crosswalk: readonly CrosswalkSeed[] = [
  { goldenId: 'GR-100017', persons: [one('0318204'), two('B00417733')] },
  { goldenId: 'GR-100024', persons: [one('0320991'), two('B00418052')] },
  { goldenId: 'GR-100031', persons: [one('0322467'), two('B00421960')] },
  { goldenId: 'GR-100048', persons: [one('0101866'), two('B00400219')] },
  { goldenId: 'GR-100055', persons: [one('0319375')] },
  { goldenId: 'GR-100062', persons: [two('B00419407')] },
];
