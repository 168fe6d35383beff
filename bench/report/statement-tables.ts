// Formats the SQL statements of engine calls as tables, without those that the idle engine executes in the same time.

import { markdownTable } from './tables.ts';

/** Totals for all calls of one kind, or for the time during which the engine was idle. */
export interface Executed {
  /** Number of calls; 0 while the engine was idle. */
  readonly calls: number;
  readonly seconds: number;
  /** Number of executions by text of the statement, without BEGIN and COMMIT. */
  readonly statements: ReadonlyMap<string, number>;
  readonly commits: number;
  /** Transactions that got a transaction id, because they changed or locked a row. */
  readonly writes: number;
  /** Bytes of the write-ahead log. */
  readonly walBytes: number;
}

/**
 * Returns two tables with a column for each kind of call: the totals per call, and the executions of each statement per
 * call.
 */
export function statementTables(kinds: Readonly<Record<string, Executed>>, idle: Executed): string {
  const row = (name: string, count: (executed: Executed) => number, digits = 1) => [
    name,
    ...Object.values(kinds).map((kind) => readable(perCall(count, kind, idle), digits)),
  ];
  const totals = [
    row('statements', ({ statements }) => sum(statements)),
    row('commits', ({ commits }) => commits),
    row('commits that are flushed', ({ writes }) => writes),
    row('bytes of write-ahead log', ({ walBytes }) => walBytes, 0),
  ];
  const texts = [...new Set(Object.values(kinds).flatMap(({ statements }) => [...statements.keys()]))].sort();
  const rows = texts
    .map((text) => row(cellOf(text), ({ statements }) => statements.get(text) ?? 0))
    .filter(([, ...cells]) => cells.some((cell) => cell !== ''));
  const names = Object.keys(kinds);
  return `${markdownTable([['each call', ...names], ...totals])}\n\n${markdownTable([['statement', ...names], ...rows])}`;
}

/** Returns a count per call, without what the idle engine would have executed in the same time. */
export function perCall(count: (executed: Executed) => number, kind: Executed, idle: Executed): number {
  return (count(kind) - (count(idle) / idle.seconds) * kind.seconds) / kind.calls;
}

function sum(statements: ReadonlyMap<string, number>): number {
  return [...statements.values()].reduce((total, count) => total + count, 0);
}

/** Returns an empty cell for a value that rounds to zero. */
function readable(value: number, digits: number): string {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? '' : text;
}

/** Returns the beginning of a statement, for a cell of a Markdown table. */
function cellOf(text: string): string {
  return `\`${text.replaceAll('|', '¦').slice(0, 100)}\``;
}
