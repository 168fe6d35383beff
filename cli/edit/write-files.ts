// Writes several files as one change: all of them, or none.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { CommandError, linesOf } from '../outcome.ts';

/** A change to one file. */
export interface FileChange {
  /** The text that the change is based on; undefined for a new file. */
  readonly before: string | undefined;
  readonly after: string;
}

/** Reads a file below `dir` and returns the change that `edit` makes to it. */
export function editFile(dir: string, file: string, edit: (text: string) => string): FileChange {
  const before = readFileSync(resolve(dir, file), 'utf8');
  return { before, after: edit(before) };
}

/**
 * Writes the files, then runs `verify` and returns its result. When a file cannot be written or `verify` rejects, every
 * file is restored and the error is thrown. Changes that another program, such as a second `add-route`, has made in the
 * meantime are never overwritten.
 * @param changes by path below `dir`
 * @throws CommandError when a file has changed since it was read, or cannot be restored because it has changed again
 */
export async function writeFilesVerified<T>(
  dir: string,
  changes: ReadonlyMap<string, FileChange>,
  verify: () => Promise<T>,
): Promise<T> {
  const files = [...changes].map(([file, change]) => {
    const path = resolve(dir, file);
    // Files are restored from their bytes: decoding a file that is not UTF-8 would replace its invalid bytes.
    return { file, path, bytes: existsSync(path) ? readFileSync(path) : undefined, ...change };
  });
  const changed = files.filter(({ bytes, before }) => bytes?.toString() !== before);
  if (changed.length > 0)
    throw new CommandError(
      changed.map(({ file }) => `${changedMeanwhile(file)}: nothing was added; run the command again`),
    );
  try {
    for (const { path, after } of files) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, after);
    }
    return await verify();
  } catch (error) {
    const kept = files.filter((file) => hasForeignText(file));
    for (const { path, bytes } of files.filter((file) => !kept.includes(file))) {
      if (bytes === undefined) rmSync(path, { force: true });
      else writeFileSync(path, bytes);
    }
    if (kept.length === 0) throw error;
    throw new CommandError(
      [
        ...linesOf(error),
        ...kept.map(({ file }) => `${changedMeanwhile(file)}: remove by hand what this command added to it`),
      ],
      { cause: error },
    );
  }
}

function changedMeanwhile(file: string): string {
  return `${file} was changed by another program in the meantime`;
}

/**
 * Returns true when another program has changed the file, so that it has neither its previous text nor the new text. A
 * failed write may leave only the beginning of the new text; that does not count as a change by another program.
 */
function hasForeignText({ path, before, after }: FileChange & { readonly path: string }): boolean {
  const text = readIfExists(path);
  return text !== before && !after.startsWith(text ?? '');
}

/** Returns the text of a file; undefined when there is none. */
export function readIfExists(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
