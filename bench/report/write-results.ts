// Writes the results of a bench: reports and their charts into bench/results/, all figures as JSON into .run/bench/.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { rootDir } from '../programs/program.ts';

/** Folder for the reports. */
export const resultsFolder = join(rootDir, 'bench/results');

/** Writes a file and returns its path relative to the root. */
export function writeResults(fileName: string, content: string, folder = resultsFolder): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, fileName);
  writeFileSync(path, content);
  return relative(rootDir, path);
}

/** Folder for results that are not committed. */
export const ownFolder = join(rootDir, '.run/bench');

/** Writes a value as JSON, with fractions rounded to a meaningful precision, and returns the path of the file. */
export function writeJson(fileName: string, value: unknown): string {
  const short = (_key: string, item: unknown) =>
    typeof item === 'number' && !Number.isInteger(item) ? Number(item.toPrecision(5)) : item;
  return writeResults(fileName, `${JSON.stringify(value, short, 2)}\n`, ownFolder);
}
