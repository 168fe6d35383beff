// Formats results of runs: the lines printed at the end of a run, and the tables of docs/explanation/reliability.md.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { invariants } from './violation.ts';
import { quantilesOf, type Recovery } from './figures.ts';
import { productCode } from './product-code.ts';
import { type Findings, hasHeld, Results, topologyName } from './results.ts';

const page = fileURLToPath(new URL('../../docs/explanation/reliability.md', import.meta.url));
const marks = ['<!-- results: npm run faults -- --report -->', '<!-- end of results -->'] as const;

/** Removes the results of other product code and writes the tables into the page. */
export function writeReport(): void {
  const results = new Results();
  results.removeStale(productCode());
  const text = readFileSync(page, 'utf8');
  const [before, rest] = split(text, marks[0]);
  const [, after] = split(rest, marks[1]);
  writeFileSync(page, `${before}${marks[0]}\n\n${reportOf(results.read())}\n\n${marks[1]}${after}`);
}

/** Returns the tables in Markdown: all runs by case, and the recovery from each kind of fault. */
export function reportOf(results: readonly (readonly Findings[])[]): string {
  const runs = results.flat();
  if (runs.length === 0) return 'There are no results of this code yet.';
  const commits = [...new Set(runs.map(({ circumstances }) => `\`${circumstances.commit}\``))].join(', ');
  const machines = [...new Set(runs.map(machineOf))].join('; ');
  const product = [...new Set(runs.map((run) => run.product))].join(', ');
  const heading = `Product code \`${product}\` (commit ${commits}), on ${machines}.`;
  const count = (of: (run: Findings) => number) => sum(runs, of).toLocaleString('en');
  const totals =
    `Total: ${count(({ tries }) => tries)} tries, ${count(({ kills }) => kills)} processes killed, ` +
    `${count(({ requests }) => requests)} requests, ${count(({ violations }) => violations)} violations, ` +
    `${count((run) => (hasHeld(run) ? 0 : 1))} of ${runs.length} runs failed.`;
  const parts = [heading, tableOf(caseHead, results.map(caseRow)), totals, remarksOf(runs), recoveryTable(results)];
  return parts.filter((part) => part !== '').join('\n\n');
}

const caseHead = [
  ...['case', 'store', 'tries', 'kills', 'requests', 'PATCHes: 2xx, lost, doubled', 'judged I1 to I7', 'result'],
  ...['undisturbed', 'seeds'],
];

function caseRow(runs: readonly Findings[]): string[] {
  const count = (of: (run: Findings) => number) => String(sum(runs, of));
  const [first] = runs as [Findings];
  const wrong = runs.flatMap(wrongIn);
  return [
    `\`${first.case}\``,
    topologyName(first.topology),
    count(({ tries }) => tries),
    count(({ kills }) => kills),
    count(({ requests }) => requests),
    (['acknowledged', 'lost', 'doubled'] as const).map((of) => count(({ patches }) => patches[of])).join(', '),
    invariants.map((invariant) => sum(runs, ({ judged }) => judged[invariant]) || 'not judged').join(' · '),
    [...(wrong.length === 0 ? ['all invariants held'] : wrong), ...runs.flatMap(lostIn)]
      .join('; ')
      .replaceAll('|', '\\|'),
    `${count(({ undisturbed }) => undisturbed.succeeded)} of ${count(({ undisturbed }) => undisturbed.requests)}`,
    runs.map(seedOf).join(', '),
  ];
}

/** Returns the seed of a run, with the factors of its time limits and load if not 1: `7 (slack 2, load 0.5)`. */
function seedOf({ seed, slack, load = 1 }: Findings): string {
  const different = [...(slack === 1 ? [] : [`slack ${slack}`]), ...(load === 1 ? [] : [`load ${load}`])];
  return different.length === 0 ? String(seed) : `${seed} (${different.join(', ')})`;
}

/** Returns a list of the first violations and the notes of each run; empty when there are none. */
function remarksOf(runs: readonly Findings[]): string {
  const lines = runs.flatMap((run) => {
    const violations = run.examples.map(({ invariant, what }) => `${invariant}: ${what}`);
    return [...violations, ...run.notes].map((text) => `- \`${run.case}\` on ${topologyName(run.topology)}: ${text}`);
  });
  return lines.length === 0 ? '' : ['The first violations and the notes of each run:', lines.join('\n')].join('\n\n');
}

function wrongIn({ violations, complaints, brokeOff }: Findings): string[] {
  return [
    ...(violations === 0 ? [] : [`${violations} violations`]),
    ...complaints,
    ...(brokeOff === undefined ? [] : [`aborted: ${brokeOff.split('\n')[0]}`]),
  ];
}

/**
 * Returns a sentence about the data that Redis lost, even for a run without violations; empty when nothing was lost.
 */
function lostIn({ losses }: Findings): string[] {
  if (losses === undefined || losses.lost + losses.explained === 0) return [];
  const { restarts, lost, longestMs, explained } = losses;
  return [
    `Redis lost ${lost} writes in ${restarts} restarts (at most the last ${longestMs} ms); they explain ${explained} violation${explained === 1 ? '' : 's'}`,
  ];
}

const recoveryHead = [
  'case',
  'store',
  'what broke',
  'times',
  'from repair to service: median, p99, worst',
  'from fault to service: median, p99, worst',
];

/** Returns the table of recoveries. Faults that broke no route are left out. */
function recoveryTable(results: readonly (readonly Findings[])[]): string {
  const rows = results.flatMap((runs) => {
    const [first] = runs as [Findings];
    const byKind = Object.entries(
      Object.groupBy(
        runs.flatMap(({ recoveries }) => recoveries),
        ({ kind }) => kind,
      ),
    );
    return byKind.map(([kind, recoveries = []]) => [
      `\`${first.case}\``,
      topologyName(first.topology),
      kind,
      String(recoveries.length),
      spread(recoveries, ({ ms }) => ms),
      spread(recoveries, ({ outageMs }) => outageMs),
    ]);
  });
  return tableOf(recoveryHead, rows);
}

function spread(recoveries: readonly Recovery[], of: (recovery: Recovery) => number | undefined): string {
  const never = recoveries.filter((recovery) => of(recovery) === undefined).length;
  const quantiles = quantilesOf(recoveries.map(of).filter((ms) => ms !== undefined));
  if (quantiles === undefined) return 'never';
  const { median, p99, worst } = quantiles;
  return [median, p99, worst].map(seconds).join(', ') + (never === 0 ? '' : `, ${never} never`);
}

/** Returns the lines that are printed at the end of a run. */
export function describeFindings(findings: Findings): string {
  const { case: name, topology, circumstances, seed, requests, kills, patches, undisturbed, unacknowledged } = findings;
  const lines = [
    `${name} on ${topologyName(topology)}: ${hasHeld(findings) ? 'all invariants held' : wrongIn(findings).join('; ')}`,
    `  seed ${seed}, commit ${circumstances.commit}, ${machineOf(findings)}, ${findings.seconds} s`,
    `  ${requests} requests, ${kills} kills; ${endsOf(findings)}`,
    `  ${patches.acknowledged} PATCHes answered 2xx: ${patches.lost} lost, ${patches.doubled} doubled; ` +
      `${unacknowledged.applied} writes applied without an acknowledgement`,
    `  judged: ${invariants.map((each) => `${each} ${findings.judged[each] || 'not judged'}`).join(', ')}`,
    ...personLines(findings),
    `  while nothing was broken: ${undisturbed.succeeded} of ${undisturbed.requests} requests succeeded`,
    ...findings.examples.map(({ invariant, subject, what }) => `  ${invariant} ${subject}: ${what}`),
    ...lossLines(findings),
    ...findings.notes.map((note) => `  ${note}`),
  ];
  return findings.recoveries.length === 0 ? lines.join('\n') : [...lines, recoveryTable([[findings]])].join('\n');
}

function personLines({ persons }: Findings): string[] {
  return persons === undefined ? [] : [`  I2: ${persons.compared} of ${persons.observed} persons compared at the end`];
}

function lossLines({ losses }: Findings): string[] {
  if (losses === undefined) return [];
  const { restarts, marks, lost, longestMs, explained, examples } = losses;
  return [
    `  Redis was restarted ${restarts} times and lost ${lost} of ${marks} acknowledged test writes ` +
      `(made at most ${longestMs} ms before a kill); this explains ${explained} violations`,
    ...examples.map(({ invariant, subject, what }) => `  not durable: ${invariant} ${subject}: ${what}`),
  ];
}

function machineOf({ circumstances: { machine, busyBefore, loadAverage } }: Findings): string {
  const { cores, processor, memoryGiB } = machine;
  const isQuiet = busyBefore <= 0.1;
  return `${cores} cores (${processor}), ${memoryGiB} GiB, ${isQuiet ? 'quiet' : `busy (load ${loadAverage.toFixed(0)})`}`;
}

/** Returns the number of requests by ending, the most frequent ending first: `200 × 512, 504 × 20`. */
function endsOf({ ends }: Findings): string {
  const counts = new Map<string, number>();
  for (const [end, count] of Object.entries(ends)) {
    const [word = ''] = end.split(' ');
    counts.set(word, (counts.get(word) ?? 0) + count);
  }
  const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
  return sorted.map(([word, count]) => `${word} × ${count}`).join(', ');
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

function sum(runs: readonly Findings[], of: (run: Findings) => number): number {
  return runs.reduce((total, run) => total + of(run), 0);
}

function split(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  if (at === -1) throw new Error(`docs/explanation/reliability.md has no ${mark}`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}
