// A polling file watcher that compares contents. Polling also works where file system notifications are not available.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** Options of {@link watchFiles}. */
export interface WatchOptions {
  /** Pause between two polls, in milliseconds. */
  readonly intervalMs: number;
  /** Returns the files to watch; called before each poll. Files may be missing: their creation counts as a change. */
  readonly files: () => readonly string[];
  /** Called after each change. */
  readonly onChange: () => void;
}

/** A running watcher. */
export interface FileWatch {
  /** Stops polling; resolves when the poll in progress has ended. */
  stop(): Promise<void>;
}

/**
 * Starts polling. A change is reported once two consecutive polls read the same content, so that a partly written file is
 * not reported. A file renamed over the path counts as a change, and so does a symbolic link with a new target (Kubernetes
 * swaps `..data` of a ConfigMap). A new modification time alone does not.
 */
export async function watchFiles({ intervalMs, files, onChange }: WatchOptions): Promise<FileWatch> {
  let known = await digestOf(files());
  let seen = known;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const poll = async (): Promise<void> => {
    const now = await digestOf(files());
    if (stopped) return;
    if (now === seen && now !== known) {
      known = now;
      onChange();
    }
    seen = now;
    timer = setTimeout(() => (polling = poll()), intervalMs);
  };
  let polling: Promise<void> = Promise.resolve();
  timer = setTimeout(() => (polling = poll()), intervalMs);
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await polling;
    },
  };
}

/** Digest of the contents of all files; an unreadable file counts with its error code. */
async function digestOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) {
    const content = await readFile(file).catch((error: NodeJS.ErrnoException) => error.code ?? 'unreadable');
    hash.update(`\n${file} ${content.length}\n`).update(content);
  }
  return hash.digest('base64');
}
