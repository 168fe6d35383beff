// Type declarations of progress.mjs.

/** A progress line. */
export interface Progress {
  /** Replaces the line; when the stream is not a terminal, writes a new line at most every ten seconds. */
  show(line: string): void;
  /** Removes the line. */
  clear(): void;
}

/** Creates a progress line. @param stream output stream; default standard error */
export function createProgress(stream?: NodeJS.WriteStream): Progress;
