// Tests of the comparison with other systems: the table, the report and the chart.

import { describe, expect, it } from 'vitest';
import type { PeerResult } from '../../../bench/peers/measure-peers.ts';
import { peerChart } from '../../../bench/report/peer-chart.ts';
import { busyLoadOf, failureList, figuresTable, peerReport } from '../../../bench/report/peer-report.ts';

function loadOf(inFlight: number, p50: number, failures = 0) {
  const figures = {
    ...{ p50, p90: 2 * p50, p99: 3 * p50, requestsPerSecond: 1_000 / p50, requests: 100, failures, othersShare: 0 },
    ...{ processorMs: { system: p50 / 2, bench: 1 }, backEndCallsPerRequest: 1 },
  };
  return { inFlight, figures, memoryMiB: 300.4 };
}

function resultOf(name: string, more: Partial<PeerResult> = {}): PeerResult {
  const described = {
    name,
    title: `about ${name}`,
    setup: `${name} 1.0`,
    durability: 'result: fsync',
    isRouter: false,
    isSynced: true,
  };
  return { ...described, loads: [loadOf(1, 4), loadOf(32, 50)], ...more };
}

const results = [
  resultOf('router', { isRouter: true, loads: [loadOf(1, 4), loadOf(32, 50, 2)] }),
  resultOf('other', { loads: [loadOf(1, 8), loadOf(32, 80)] }),
  resultOf('absent', { loads: [], notRun: 'there is no Java | here\nat all' }),
];
const report = {
  results,
  caption: 'a machine <new> · today',
  date: '2026-01-02',
  command: 'npm run x',
  chart: 'c.svg',
};

describe('the table', () => {
  const lines = figuresTable(results).split('\n');

  it('has a line for each system, with the latencies and throughput of each load', () => {
    expect(lines[0]).toMatch(/^\| system +\| stored +\| 1 in flight +\| 32 in flight +\| processor ms/);
    expect(lines[3]).toMatch(/^\| about other +\| result: fsync +\| 8\.00 · 24\.0 · 125 \| 80\.0 · 240 · 12\.5 \|/);
  });

  it('emphasises the router and counts its failures at all loads', () => {
    expect(lines[2]).toMatch(/^\| \*\*about router\*\* .*\| +2 \|$/);
  });

  it('shows processor time, memory and calls at the busy load', () => {
    expect(lines[3]).toMatch(/\| +40\.00 \| +300 \| 1\.000 \| +0 \|$/);
  });

  it('says why a system did not run', () => {
    expect(lines[4]).toMatch(/^\| about absent +\| not run: there is no Java {3}here +\|/);
  });
});

describe('the list of failures', () => {
  it('has the first failure of each system with its load', () => {
    const load = loadOf(32, 50, 1);
    const failed = { ...load, figures: { ...load.figures, firstFailure: 'GET /: 503\nlater' } };
    expect(failureList([...results, resultOf('late', { loads: [loadOf(1, 4), failed] })])).toBe(
      'Failures (the first failed request of each system, and every aborted repetition):\n\n- about late, 32 in flight: GET /: 503',
    );
  });

  it('has the aborted repetitions', () => {
    expect(failureList([resultOf('late', { brokenOff: ['it did not start\nat all'] })])).toBe(
      'Failures (the first failed request of each system, and every aborted repetition):\n\n- about late, aborted repetition: it did not start',
    );
  });

  it('is empty when no request failed', () => {
    expect(failureList(results)).toBe('');
  });
});

describe('the busy load', () => {
  it('is 32 in flight, or the greatest when 32 was not measured', () => {
    expect(busyLoadOf(results)).toBe(32);
    expect(busyLoadOf([resultOf('quick', { loads: [loadOf(1, 4), loadOf(8, 9)] })])).toBe(8);
  });
});

describe('the report', () => {
  const text = peerReport(report);

  it('names date, command and machine, and shows the chart', () => {
    for (const part of ['2026-01-02', '`npm run x`', 'a machine <new>, today', '](c.svg)'])
      expect(text).toContain(part);
  });

  it('lists the programs and settings of every system, even of one that did not run', () => {
    for (const { name } of results) expect(text).toContain(`${name} 1.0`);
  });
});

describe('the chart', () => {
  const svg = peerChart(results, report.caption);

  it('has a row for each system that ran, with a dot in each of three panels', () => {
    expect(svg).toContain('>about router</text>');
    expect(svg).toContain('>about other</text>');
    expect(svg).not.toContain('absent');
    expect(svg.match(/<circle class="dot"/g)).toHaveLength(3);
    expect(svg.match(/<circle class="router dot"/g)).toHaveLength(3);
  });

  it('labels the dots with their values', () => {
    for (const value of ['4.00 – 12.0', '20.0', '25.0', '8.00 – 24.0', '12.5', '40.0'])
      expect(svg).toContain(`>${value}</text>`);
  });

  it('draws open dots for systems without fsync', () => {
    expect(peerChart([resultOf('loose', { isSynced: false })], 'x').match(/<circle class="dot open"/g)).toHaveLength(3);
  });

  it('has colours for light and dark pages', () => {
    expect(svg).toContain('prefers-color-scheme: dark');
  });

  it('escapes text', () => {
    expect(svg).toContain('a machine &lt;new>');
  });

  it('has no rows when nothing ran', () => {
    expect(peerChart([resultOf('absent', { loads: [], notRun: 'no' })], 'x')).not.toMatch(/NaN|Infinity|undefined/);
  });
});
