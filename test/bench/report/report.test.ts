// Tests of reports: tables, ratios and the scale of charts.

import { describe, expect, it } from 'vitest';
import type { Figures } from '../../../bench/measure/figures.ts';
import { logScale } from '../../../bench/report/log-scale.ts';
import { markdownTable, processorTable, resultTable, routerRatios } from '../../../bench/report/tables.ts';

function resultOf(target: string, inFlight: number, given: Partial<Figures> = {}) {
  const figures = {
    ...{
      p50: 10,
      p90: 20,
      p99: 40,
      requestsPerSecond: 100,
      requests: 1_000,
      failures: 0,
      processorMs: {},
      othersShare: 0,
    },
    ...given,
  };
  return { target, text: `about ${target}`, inFlight, figures, repetitions: [figures] };
}

const results = [
  resultOf('floor', 1, { engineCallsPerRequest: 4, processorMs: { engine: 8, router: 0 } }),
  resultOf('router', 1, { p50: 8, p99: 30, requestsPerSecond: 150, processorMs: { engine: 5, router: 1.25 } }),
  resultOf('floor', 8),
];

describe('a table', () => {
  it('is Markdown with right-aligned numbers', () => {
    const rows = [
      ['name', 'ms'],
      ['a & b', '5'],
      ['c', '10.5'],
      ['d', '-'],
    ];
    expect(markdownTable(rows).split('\n')).toEqual([
      '| name  |   ms |',
      '| ----- | ---: |',
      '| a & b |    5 |',
      '| c     | 10.5 |',
      '| d     |    - |',
    ]);
  });

  it('of results shows failures with the first reason', () => {
    const failed = resultOf('execute', 1, { failures: 2, firstFailure: 'the execution is RUNNING' });
    expect(resultTable([failed])).toContain('2: the execution is RUNNING');
  });

  it('of processor time has a column per process', () => {
    expect(processorTable(results)).toMatch(/engine ms \| router ms/);
    expect(processorTable(results)).toMatch(/5\.00 \| +1\.25/);
  });
});

describe('the ratios', () => {
  it('compare the router with every other target at the same load; a load without the router has no ratios', () => {
    expect(routerRatios(results)).toEqual([{ inFlight: 1, to: 'floor', p50: 0.8, p99: 0.75, requestsPerSecond: 1.5 }]);
  });
});

describe('a logarithmic axis', () => {
  const scale = logScale([3, 150], { least: 300, greatest: 0 });

  it('goes from the tick below the least value to the tick above the greatest', () => {
    expect(scale.ticks).toEqual([2, 5, 10, 20, 50, 100, 200]);
  });

  it('gives equal ratios equal distances', () => {
    expect(scale.at(2)).toBe(300);
    expect(scale.at(200)).toBe(0);
    expect(scale.at(20)).toBe(150);
  });

  it('without a usable value still has ticks', () => {
    expect(logScale([Number.NaN, 0], { least: 10, greatest: 0 }).ticks).toEqual([1, 10]);
  });
});
