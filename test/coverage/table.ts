// Formats the shares of covered lines, by folder, as a table.

import { dirname } from 'node:path';
import { isInside } from './options.ts';
import type { FileCoverage } from './read-coverage.ts';

/** Returns a line for each folder, and one for each file of the folders in `detailed`. */
export function tableOf(files: readonly FileCoverage[], detailed: readonly string[] = []): string {
  const byFolder = Object.groupBy(files, ({ file }) => dirname(file));
  const rows = Object.entries(byFolder).flatMap(([folder, inside = []]) => {
    const isDetailed = detailed.some((each) => folder === each || isInside(folder, each));
    return [rowOf(folder, inside), ...(isDetailed ? inside.map((each) => rowOf(`  ${each.file}`, [each])) : [])];
  });
  return [...rows, rowOf('all', files)].join('\n');
}

function rowOf(name: string, files: readonly FileCoverage[]): string {
  const lines = files.reduce((sum, file) => sum + file.lines, 0);
  const covered = files.reduce((sum, file) => sum + file.covered, 0);
  const percent = lines === 0 ? 100 : (100 * covered) / lines;
  const [only, ...others] = files;
  const missed = others.length === 0 && name.startsWith(' ') ? spans(only?.missed ?? []) : '';
  return `${name.padEnd(64)} ${percent.toFixed(1).padStart(6)} % of ${String(lines).padStart(5)} lines  ${missed}`.trimEnd();
}

/** Returns line numbers as ranges: `3-5, 9`. */
function spans(numbers: readonly number[]): string {
  const found: [number, number][] = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(', ');
}
