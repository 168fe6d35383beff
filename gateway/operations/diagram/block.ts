// The data model of a diagram: nodes that stand one after the other, side by side, or in a loop.

/** State of a part of a diagram. `idle`: not reached, skipped or cancelled. */
export type Meaning = 'good' | 'open' | 'late' | 'bad' | 'idle';

/** A box with two lines of text. */
export interface NodeBlock {
  readonly kind: 'node';
  readonly title: string;
  readonly subtitle: string;
  readonly meaning: Meaning;
  /** True for a control task of the engine, which is drawn with round ends. */
  readonly isControl?: boolean;
  /** Page that the node links to. */
  readonly href?: string | undefined;
  /** True for the execution that the page is about. */
  readonly isCurrent?: boolean;
}

/** One branch of a split. */
export interface Branch {
  readonly label: string;
  readonly block: Block;
  /** False when the execution did not take this branch. */
  readonly isTaken: boolean;
}

/** A part of a diagram. */
export type Block =
  | NodeBlock
  | { readonly kind: 'sequence'; readonly blocks: readonly Block[] }
  | { readonly kind: 'split'; readonly branches: readonly Branch[] }
  | { readonly kind: 'loop'; readonly title: string; readonly block: Block };
