// The corpus of byte strings for tests of the router, one per file, each with the response that it must get.

import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseCase, type WireCase } from './notation.ts';

const directory = fileURLToPath(new URL('corpus/', import.meta.url));

/** Returns all cases by `<group>/<name>`. */
export function readCorpus(): Map<string, WireCase> {
  const files = globSync('**/*.txt', { cwd: directory }).toSorted();
  return new Map(
    files.map((file) => [file.replace(/\.txt$/, ''), parseCase(readFileSync(`${directory}${file}`, 'utf8'))]),
  );
}
