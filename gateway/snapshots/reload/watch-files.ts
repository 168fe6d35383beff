// Tells when files have changed, by their content: looked at again and again, as no notification is to be had everywhere.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

export interface WatchOptions {
  /** Pause between two looks, in milliseconds. */
  readonly intervalMs: number;
  /** Asked before each look. One that does not exist is waited for. */
  readonly files: () => readonly string[];
  readonly changed: () => void;
}

export interface FileWatch {
  /** No look begins any more; resolves when the one under way is over. */
  stop(): Promise<void>;
}

/**
 * Begins to look. A change counts when two looks in a row have seen the same: a file that is being written is not read
 * half. What a look reads is what the path leads to, so a file that is renamed over it counts, and so does a symbolic link
 * that leads elsewhere (as Kubernetes swaps `..data` of a ConfigMap). A file that was only touched does not.
 */
export async function watchFiles({ intervalMs, files, changed }: WatchOptions): Promise<FileWatch> {
  let known = await digestOf(files());
  let seen = known;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    const now = await digestOf(files());
    if (stopped) return;
    if (now === seen && now !== known) {
      known = now;
      changed();
    }
    seen = now;
    timer = setTimeout(() => (looking = look()), intervalMs);
  };
  let looking: Promise<void> = Promise.resolve();
  timer = setTimeout(() => (looking = look()), intervalMs);
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await looking;
    },
  };
}

/** Of all of them; what cannot be read counts as its error. */
async function digestOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) {
    const content = await readFile(file).catch((error: NodeJS.ErrnoException) => error.code ?? 'unreadable');
    hash.update(`\n${file} ${content.length}\n`).update(content);
  }
  return hash.digest('base64');
}
