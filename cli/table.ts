// Text in columns.

import { paint, widthOf } from './colours.ts';

/** Lines with the cells of each column one under the other, two spaces between columns, nothing at the end. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd(),
  );
}

/** A table: the names of its columns above its rows. Cells may be painted. */
export function formatTable(columns: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return alignColumns([columns.map((name) => paint('heading', name)), ...rows]);
}

/** `1 workflow`, `2 workflows`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
