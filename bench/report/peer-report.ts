// Formats the comparison with other systems as Markdown: the method, a table of the figures, and a table of the
// set-ups.

import type { LoadResult, PeerResult } from '../peers/measure-peers.ts';
import { markdownTable, readable } from './tables.ts';

export interface PeerReport {
  /** When and where the run took place, and with which versions, in one line. */
  readonly caption: string;
  /** `YYYY-MM-DD`. */
  readonly date: string;
  /** The command that started the run. */
  readonly command: string;
  /** File name of the chart, beside the report. */
  readonly chart: string;
  readonly results: readonly PeerResult[];
}

/** Returns the whole report. */
export function peerReport({ caption, date, command, chart, results }: PeerReport): string {
  return [
    `# Durable execution over HTTP, ${date}`,
    `\`${command}\``,
    caption.replaceAll(' · ', ', '),
    [
      'Every system does the same work: a client sends an HTTP request, a durable step calls the same back end, and the',
      "step's result is the HTTP response. Each client sends its next request when it has received the response to the",
      'previous one (closed loop). Each system runs alone on the machine and is restarted for each repetition. The',
      'order of the systems rotates.',
      'Figures are medians of the repetitions.',
    ].join('\n'),
    `![Latency, throughput and processor time of each system](${chart})`,
    figuresTable(results),
    [
      'Each "in flight" column shows p50 ms · p99 ms · requests/s. Processor time (per request) and memory are those',
      `of all processes of the system with ${busyLoadOf(results)} requests in flight, without the client and the back`,
      'end; shared memory pages count once.',
      '"Stored": which data of a request is stored when its response arrives, and whether it was synchronised to disk (fsync).',
      '"Calls": requests that the back end received for each response.',
    ].join('\n'),
    failureList(results),
    '## What ran',
    setupTable(results),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n');
}

/** Returns the table of figures, with one row per system. */
export function figuresTable(results: readonly PeerResult[]): string {
  const loads = loadsOf(results);
  const busy = busyLoadOf(results);
  const header = ['system', 'stored', ...loads.map((load) => `${load} in flight`)];
  const rows = results.map(({ title, isRouter, durability, notRun, loads: measured }) => {
    const name = isRouter ? `**${title}**` : title;
    if (notRun !== undefined) return [name, `not run: ${firstLine(notRun)}`];
    const at = (load: number) => measured.find(({ inFlight }) => inFlight === load);
    return [name, durability, ...loads.map((load) => loadCell(at(load))), ...lastCells(at(busy), measured)];
  });
  return markdownTable([[...header, 'processor ms', 'memory MiB', 'calls', 'failed'], ...rows]);
}

/**
 * Returns a list of all aborted repetitions and of the first failed request of each system; empty when nothing failed.
 */
export function failureList(results: readonly PeerResult[]): string {
  const failed = results.flatMap(({ title, loads, brokenOff = [] }) => {
    const [first] = loads.flatMap(({ inFlight, figures }) =>
      figures.firstFailure === undefined
        ? []
        : [`- ${title}, ${inFlight} in flight: ${firstLine(figures.firstFailure)}`],
    );
    const broken = brokenOff.map((message) => `- ${title}, aborted repetition: ${firstLine(message)}`);
    return [...(first === undefined ? [] : [first]), ...broken];
  });
  return failed.length === 0
    ? ''
    : ['Failures (the first failed request of each system, and every aborted repetition):', '', ...failed].join('\n');
}

/** Returns the table of the programs and their settings. */
function setupTable(results: readonly PeerResult[]): string {
  return markdownTable([['system', 'programs and settings'], ...results.map(({ title, setup }) => [title, setup])]);
}

/** Returns the load at which CPU time and memory are shown: 32, or the greatest when 32 was not measured. */
export function busyLoadOf(results: readonly PeerResult[]): number {
  const loads = loadsOf(results);
  return loads.includes(32) ? 32 : (loads.at(-1) ?? 0);
}

/** Returns all measured loads in ascending order. */
export function loadsOf(results: readonly PeerResult[]): number[] {
  const loads = results.flatMap((result) => result.loads.map(({ inFlight }) => inFlight));
  return [...new Set(loads)].sort((a, b) => a - b);
}

function loadCell(result: LoadResult | undefined): string {
  if (result === undefined) return '';
  const { p50, p99, requestsPerSecond } = result.figures;
  return `${readable(p50)} · ${readable(p99)} · ${readable(requestsPerSecond)}`;
}

function lastCells(busy: LoadResult | undefined, measured: readonly LoadResult[]): string[] {
  const failures = measured.reduce((sum, { figures }) => sum + figures.failures, 0);
  return [
    busy?.figures.processorMs['system']?.toFixed(2) ?? '',
    busy?.memoryMiB.toFixed(0) ?? '',
    busy?.figures.backEndCallsPerRequest?.toFixed(3) ?? '',
    String(failures),
  ];
}

/** Returns the first line of a message, cut to 100 characters. */
function firstLine(text: string): string {
  const [line = ''] = text.split('\n');
  return line.replaceAll('|', ' ').slice(0, 100);
}
