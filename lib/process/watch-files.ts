// Watches files by polling, and compares their contents. Polling also works where file system notifications are not
// available.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';

/** Digests of the contents of files, by path; for an unreadable file, the error code. */
export type FileDigests = ReadonlyMap<string, string>;

/** Options of {@link watchFiles}. */
export interface WatchOptions {
  /** Pause between two polls, in milliseconds. */
  readonly intervalMs: number;
  /** Returns the files to watch; called before each poll. Files may be missing: their creation counts as a change. */
  readonly files: () => readonly string[];
  /** Contents that are known already, so they are not reported; default: the contents at the start. */
  readonly known?: FileDigests;
  /** Called after each change. */
  readonly onChange: () => void;
  /**
   * Called after each poll that finds the same contents as the last report. At that time, no file is partly written.
   */
  readonly onNoChange?: () => void;
}

/** A running watcher. */
export interface FileWatch {
  /** Stops polling; resolves when the poll in progress has ended. */
  stop(): Promise<void>;
}

/**
 * Starts polling. A change is reported once two consecutive polls read the same content, so that a partly written file
 * is not reported. A file that is renamed to a watched path counts as a change, and so does a symbolic link with a new
 * target (Kubernetes swaps `..data` of a ConfigMap). A new modification time alone does not count.
 */
export async function watchFiles({
  intervalMs,
  files,
  onChange,
  onNoChange,
  ...options
}: WatchOptions): Promise<FileWatch> {
  let seen = await digestsOf(files());
  let { known = seen } = options;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const poll = async (): Promise<void> => {
    const now = await digestsOf(files());
    if (stopped) return;
    if (isDeepStrictEqual(now, seen)) {
      if (isDeepStrictEqual(now, known)) onNoChange?.();
      else {
        known = now;
        onChange();
      }
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

/** Reads the files and returns the digests of their contents. */
export async function digestsOf(files: readonly string[]): Promise<FileDigests> {
  const digestOf = (file: string) =>
    readFile(file).then(
      (content) => createHash('sha256').update(content).digest('base64'),
      (error: NodeJS.ErrnoException) => error.code ?? 'unreadable',
    );
  return new Map(await Promise.all(files.map(async (file) => [file, await digestOf(file)] as const)));
}
