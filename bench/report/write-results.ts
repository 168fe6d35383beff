// Puts what a bench found into bench/results/.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { rootDir } from '../programs/program.ts';

/** Where results are kept. */
export const resultsFolder = join(rootDir, 'bench/results');

/** Writes one file and returns its path from the root. */
export function writeResults(fileName: string, content: string, folder = resultsFolder): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, fileName);
  writeFileSync(path, content);
  return relative(rootDir, path);
}

/** The same with a value as JSON, fractions cut to what they can mean. */
export function writeJson(fileName: string, value: unknown, folder = resultsFolder): string {
  const short = (_key: string, item: unknown) =>
    typeof item === 'number' && !Number.isInteger(item) ? Number(item.toPrecision(5)) : item;
  return writeResults(fileName, `${JSON.stringify(value, short, 2)}\n`, folder);
}
