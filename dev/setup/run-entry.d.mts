// Type declarations of run-entry.mjs.

/** Returns where Node keeps compiled code of a checkout between runs. Node ignores code whose source has changed. */
export function compileCacheOf(root: string): string;

/**
 * Runs the entry file and ends with its exit code or by its signal.
 * @param options `entry` is relative to `root`; `compileCache` is where Node keeps compiled code
 */
export function runEntry(options: {
  node: string;
  root: string;
  entry: string;
  args: string[];
  compileCache?: string | undefined;
}): void;
