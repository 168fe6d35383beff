// Types of progress.mjs.

/** A line that moves. */
export interface Progress {
  /** Replaces the line; off a terminal, writes a new one at most every ten seconds. */
  show(line: string): void;
  /** Takes the line away. */
  clear(): void;
}

/** @param stream where to write; default standard error */
export function createProgress(stream?: NodeJS.WriteStream): Progress;
