// Formats text in columns.

import { paint, widthOf } from './colours.ts';

/** Returns one line per row, with aligned columns, two spaces between columns and no trailing spaces. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const widths = Array.from({ length: columns }, (_, column) =>
    rows.reduce((most, row) => Math.max(most, widthOf(row[column] ?? '')), 0),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd(),
  );
}

/** Returns the lines of a table: the column names, then the rows. Cells may contain colours. */
export function formatTable(columns: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return alignColumns([columns.map((name) => paint('heading', name)), ...rows]);
}

/** Returns a count with its noun: `1 workflow`, `2 workflows`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
