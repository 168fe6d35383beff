// Writes several files as one change: all of them, or none.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Writes the files, then runs `verify` and returns its result. When a file cannot be written or `verify` rejects, every
 * file is restored and the error is thrown.
 * @param texts new content by absolute path
 */
export async function writeFilesVerified<T>(texts: ReadonlyMap<string, string>, verify: () => Promise<T>): Promise<T> {
  const earlier = new Map([...texts.keys()].map((file) => [file, existsSync(file) ? readFileSync(file) : undefined]));
  try {
    for (const [file, text] of texts) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return await verify();
  } catch (error) {
    for (const [file, content] of earlier) {
      if (content === undefined) rmSync(file, { force: true });
      else writeFileSync(file, content);
    }
    throw error;
  }
}
