// Tests of the figures of samples: percentiles, and the combination of several repetitions.

import { describe, expect, it } from 'vitest';
import { figuresOf, median, middleOf, percentile } from '../../../bench/measure/figures.ts';

const sample = { latencies: [1, 2, 3, 4], failures: 0, firstFailure: undefined, elapsedSeconds: 2 };

describe('a percentile', () => {
  it('is the smallest value that the given percentage of all values do not exceed', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
    expect([50, 90, 99, 100].map((percent) => percentile(hundred, percent))).toEqual([50, 90, 99, 100]);
  });

  it('of one value is that value, and of no values NaN', () => {
    expect(percentile([7], 99)).toBe(7);
    expect(percentile([], 50)).toBeNaN();
  });
});

describe('the median', () => {
  it('of an even number of values lies between the middle two', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  it('ignores values that were not measured', () => {
    expect(median([Number.NaN, 5])).toBe(5);
    expect(median([Number.NaN])).toBeNaN();
  });
});

describe('figures', () => {
  it('are counts divided by the number of successful requests', () => {
    const counted = { engineCalls: 10, processorMs: { router: 2 }, machine: { all: 60, busy: 8 } };
    const figures = figuresOf({ ...sample, failures: 3 }, counted);
    expect(figures).toMatchObject({ requests: 4, failures: 3, requestsPerSecond: 2 });
    expect(figures.engineCallsPerRequest).toBe(2.5);
    expect(figures.processorMs).toEqual({ router: 0.5, others: 1.5 });
    expect(figures.othersShare).toBe(0.1);
  });

  it('of a sample without a successful request are NaN, zero or empty', () => {
    const none = { latencies: [], failures: 2, firstFailure: 'refused', elapsedSeconds: 0 };
    const figures = figuresOf(none, { engineCalls: 10, processorMs: { router: 2 }, machine: { all: 4, busy: 2 } });
    expect(figures).toEqual({
      ...{ p50: Number.NaN, p90: Number.NaN, p99: Number.NaN, requestsPerSecond: 0, requests: 0, failures: 2 },
      ...{ firstFailure: 'refused', processorMs: {}, othersShare: 0 },
    });
  });

  it('of several repetitions are medians; requests and failures are added up', () => {
    const repetitions = [1, 9, 2].map((ms) =>
      figuresOf(
        { ...sample, latencies: [ms] },
        { engineCalls: ms, processorMs: { router: ms }, machine: { all: 10, busy: ms } },
      ),
    );
    expect(middleOf(repetitions)).toMatchObject({
      ...{ p50: 2, p99: 2, requests: 3, failures: 0, engineCallsPerRequest: 2 },
      processorMs: { router: 2 },
    });
  });
});
