// The invariants of docs/explanation/reliability.md, and the type of a violation.

export const invariants = ['I1', 'I2', 'I3', 'I4', 'I5', 'I6', 'I7'] as const;
export type Invariant = (typeof invariants)[number];

export interface Violation {
  readonly invariant: Invariant;
  /** The client request, or another subject that the violation concerns. */
  readonly subject: string;
  readonly what: string;
}
