// Formats the difference between two states of a definition as a unified diff, like `diff -u` and git.

import { structuredPatch } from 'diff';
import type { Change } from './plan.ts';

/** One side of a diff; empty when there is no definition. */
export interface DiffSide {
  readonly title: string;
  readonly definition?: unknown;
}

/** Returns the lines of the diff: two header lines, then hunks with three lines of context. */
export function unifiedDiff(from: DiffSide, to: DiffSide): string[] {
  const titleOf = ({ title, definition }: DiffSide) => (definition === undefined ? '/dev/null' : title);
  const { hunks } = structuredPatch('', '', textOf(from), textOf(to), undefined, undefined, { context: 3 });
  return [
    `--- ${titleOf(from)}`,
    `+++ ${titleOf(to)}`,
    ...hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
      `@@ -${rangeOf(oldStart, oldLines)} +${rangeOf(newStart, newLines)} @@`,
      ...lines,
    ]),
  ];
}

/** Returns the diff of a planned change, from the engine's definition to the file. */
export function diffOf({ kind, name, version, file = '', before, after }: Change): string[] {
  const title = `engine: ${kind} ${name}${version === undefined ? '' : ` v${version}`}`;
  return unifiedDiff({ title, definition: before }, { title: file, definition: after });
}

/** Formats a range of a hunk. The line number of an empty range is that of the line before it. */
function rangeOf(start: number, lines: number): string {
  return `${lines === 0 ? start - 1 : start},${lines}`;
}

function textOf({ definition }: DiffSide): string {
  if (typeof definition === 'string') return definition;
  return definition === undefined ? '' : `${JSON.stringify(definition, null, 2)}\n`;
}
