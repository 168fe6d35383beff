// The corpus: every byte string that was ever tried on the router, one a file, each with the response it must get.

import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseCase, type WireCase } from './notation.ts';

const directory = fileURLToPath(new URL('corpus/', import.meta.url));

/** All of it, by `<group>/<name>`. */
export function readCorpus(): Map<string, WireCase> {
  const files = globSync('**/*.txt', { cwd: directory }).toSorted();
  return new Map(
    files.map((file) => [file.replace(/\.txt$/, ''), parseCase(readFileSync(`${directory}${file}`, 'utf8'))]),
  );
}
