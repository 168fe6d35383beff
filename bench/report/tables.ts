// Formats the results as text: a table of figures, a table of CPU time, and a comparison of the router with the
// other targets.

import type { Figures } from '../measure/figures.ts';
import type { Result } from '../measure/measure.ts';

/** Returns the table of figures, with one row per target, grouped by load. */
export function resultTable(results: readonly Result[]): string {
  const counts = ['engine calls', 'back-end calls', 'failures'];
  const header = ['in flight', 'target', 'p50 ms', 'p90 ms', 'p99 ms', 'requests/s', ...counts, ''];
  const rows = results.map(({ inFlight, target, text, figures }) => [
    String(inFlight),
    target,
    ...[figures.p50, figures.p90, figures.p99].map(readable),
    readable(figures.requestsPerSecond),
    figures.engineCallsPerRequest?.toFixed(2) ?? '',
    figures.backEndCallsPerRequest?.toFixed(3) ?? '',
    figures.failures === 0 ? '' : `${figures.failures}: ${oneLine(figures.firstFailure ?? '')}`,
    text,
  ]);
  return markdownTable([header, ...rows]);
}

/** Returns the table of CPU time per request by process, which shows the bottleneck of a load. */
export function processorTable(results: readonly Result[]): string {
  const names = [...new Set(results.flatMap(({ figures }) => Object.keys(figures.processorMs)))];
  if (names.length === 0) return 'Processor time: not available on this system.';
  const header = ['in flight', 'target', ...names.map((name) => `${name} ms`)];
  const rows = results.map(({ inFlight, target, figures }) => [
    String(inFlight),
    target,
    ...names.map((name) => figures.processorMs[name]?.toFixed(2) ?? ''),
  ]);
  return `Processor time per request:\n\n${markdownTable([header, ...rows])}`;
}

/** The router compared with another target at the same load: each figure is the router's divided by the target's. */
export interface Ratio {
  readonly inFlight: number;
  readonly to: string;
  readonly p50: number;
  readonly p99: number;
  readonly requestsPerSecond: number;
}

export function routerRatios(results: readonly Result[]): Ratio[] {
  return results
    .filter(({ target }) => target !== 'router')
    .flatMap(({ inFlight, target: to, figures }) => {
      const router = results.find((result) => result.target === 'router' && result.inFlight === inFlight);
      return router === undefined ? [] : [{ inFlight, to, ...divide(router.figures, figures) }];
    });
}

/** Returns the table of ratios, with one row per comparison. */
export function ratioTable(ratios: readonly Ratio[]): string {
  const header = ['in flight', 'router / …', 'p50', 'p99', 'requests/s'];
  const rows = ratios.map(({ inFlight, to, p50, p99, requestsPerSecond }) => [
    String(inFlight),
    to,
    ...[p50, p99, requestsPerSecond].map(readable),
  ]);
  return markdownTable([header, ...rows]);
}

function divide(ours: Figures, theirs: Figures) {
  return {
    p50: ours.p50 / theirs.p50,
    p99: ours.p99 / theirs.p99,
    requestsPerSecond: ours.requestsPerSecond / theirs.requestsPerSecond,
  };
}

/** Returns the first 100 characters of a message as one line; a message may be a page long. */
function oneLine(text: string): string {
  return text.replace(/[\s|]+/g, ' ').slice(0, 100);
}

/** Returns the value with three significant digits, or as an integer if it is at least 100; `-` for NaN. */
export function readable(value: number): string {
  if (Number.isNaN(value)) return '-';
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

/**
 * Returns a Markdown table that is readable as plain text. The first row is its header; columns of numbers are
 * right-aligned.
 */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const columns = (rows[0] ?? []).map((_, index) => rows.map((row) => row[index] ?? ''));
  const isNumeric = columns.map(([, ...cells]) => cells.every((cell) => /^(-|[0-9.]+)?$/.test(cell)));
  const widths = columns.map((cells) => Math.max(3, ...cells.map((cell) => cell.length)));
  const pad = (cell: string, index: number) => cell[isNumeric[index] ? 'padStart' : 'padEnd'](widths[index] ?? 0);
  const line = (cells: readonly string[]) => `| ${cells.map(pad).join(' | ')} |`;
  const rule = widths.map((width, index) => (isNumeric[index] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  const [head = [], ...body] = rows;
  return [head, rule, ...body].map((row) => line(row)).join('\n');
}
