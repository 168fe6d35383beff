// The invariants of docs/explanation/reliability.md, and what a violation of one says.

export const invariants = ['I1', 'I2', 'I3', 'I4', 'I5', 'I6', 'I7'] as const;
export type Invariant = (typeof invariants)[number];

export interface Violation {
  readonly invariant: Invariant;
  /** The client's request, or whatever else the violation concerns. */
  readonly subject: string;
  readonly what: string;
}
