// The table of results in docs/guarantees.md, made of everything that runs have left in `results/`.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Findings } from './run-case.ts';

export const resultsDir = fileURLToPath(new URL('results/', import.meta.url));
const page = fileURLToPath(new URL('../../docs/guarantees.md', import.meta.url));
const marks = ['<!-- results: npm run faults -- --report -->', '<!-- end of results -->'] as const;

/** Every run that is kept, by case and engine. */
export function readResults(dir = resultsDir): Findings[][] {
  const files = readdirSync(dir).filter((name) => name.endsWith('.json'));
  return files.toSorted().map((name) => JSON.parse(readFileSync(join(dir, name), 'utf8')) as Findings[]);
}

/** Writes the table into the page. */
export function writeReport(): void {
  const text = readFileSync(page, 'utf8');
  const [before, rest] = split(text, marks[0]);
  const [, after] = split(rest, marks[1]);
  writeFileSync(page, `${before}${marks[0]}\n\n${reportOf(readResults())}\n\n${marks[1]}${after}`);
}

/** The table and its sum, in Markdown. */
export function reportOf(results: readonly (readonly Findings[])[]): string {
  const head = [
    'case',
    'engine',
    'tries',
    'kills',
    'requests',
    'how they ended',
    'I1-I7',
    'slack',
    'recovery: median, worst',
  ];
  const rows = results.map((runs) => rowOf(runs));
  const total = (count: (findings: Findings) => number) => sum(results.flat(), count).toLocaleString('en');
  const totals = `Together: ${total(({ tries }) => tries)} tries, ${total(({ kills }) => kills)} processes killed, ${total(({ requests }) => requests)} requests, ${total(({ violations }) => violations)} violations.`;
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return `${lines.join('\n')}\n\n${totals}`;
}

function rowOf(runs: readonly Findings[]): string[] {
  const [first] = runs;
  const recoveries = runs.flatMap(({ recoveryMs }) => recoveryMs).toSorted((a, b) => a - b);
  const median = recoveries[Math.floor(recoveries.length / 2)];
  const worst = recoveries.at(-1);
  const violations = sum(runs, (findings) => findings.violations);
  const count = (of: (findings: Findings) => number) => String(sum(runs, of));
  return [
    `\`${first?.case}\``,
    first?.engine ?? '',
    count(({ tries }) => tries),
    count(({ kills }) => kills),
    count(({ requests }) => requests),
    endsOf(runs),
    violations === 0 ? 'held' : `${violations} violations`,
    [...new Set(runs.map(({ slack }) => slack))].toSorted().join(', '),
    median === undefined || worst === undefined ? '-' : `${seconds(median)}, ${seconds(worst)}`,
  ];
}

/** `200 × 512, 504 × 20`, the most frequent first. */
function endsOf(runs: readonly Findings[]): string {
  const counts = new Map<string, number>();
  for (const [end, count] of runs.flatMap(({ ends }) => Object.entries(ends))) {
    const [word = ''] = end.split(' ');
    counts.set(word, (counts.get(word) ?? 0) + count);
  }
  const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
  return sorted.map(([word, count]) => `${word} × ${count}`).join(', ');
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

function sum(findings: readonly Findings[], of: (each: Findings) => number): number {
  return findings.reduce((total, each) => total + of(each), 0);
}

function split(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  if (at === -1) throw new Error(`docs/guarantees.md has no ${mark}`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}
