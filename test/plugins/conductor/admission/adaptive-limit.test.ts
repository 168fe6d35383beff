// Tests of the adaptive limit with a simulated engine: the limit falls when the engine is slow, but not when the engine
// is only busy, and it recovers.

import { describe, expect, it } from 'vitest';
import { AdaptiveLimit } from '../../../../plugins/conductor/admission/adaptive-limit.ts';

const bounds = { min: 16, initial: 64, max: 256 };

function simulate(options = bounds) {
  let now = 0;
  const limit = new AdaptiveLimit({ ...options, now: () => now });
  /** Simulates this many seconds, each with 100 starts and 100 reports, and returns the limit. */
  const run = (seconds: number, { startMs, reportMs = startMs, inFlight = Number.POSITIVE_INFINITY }: Load) => {
    for (let tick = 0; tick < seconds * 100; tick++) {
      now += 10;
      limit.noteUse(Math.min(inFlight, limit.value));
      limit.sample('report', reportMs);
      limit.sample('start', startMs);
    }
    return limit.value;
  };
  return { limit, run };
}

interface Load {
  startMs: number;
  reportMs?: number;
  inFlight?: number;
}

describe('the limit', () => {
  it('with all permits used and steady latency: rises to its ceiling and no further', () => {
    const { run } = simulate();
    expect(run(5, { startMs: 10 })).toBeGreaterThan(64);
    expect(run(60, { startMs: 10 })).toBe(256);
  });

  it('with few permits used: does not rise', () => {
    const { run } = simulate();
    expect(run(60, { startMs: 10, inFlight: 5 })).toBe(64);
  });

  it('with an engine that becomes five times slower: falls within seconds, never below its floor, and recovers', () => {
    const { run } = simulate();
    run(60, { startMs: 10 });
    expect(run(5, { startMs: 50 })).toBeLessThan(100);
    expect(run(5, { startMs: 500 })).toBeGreaterThanOrEqual(16);
    expect(run(60, { startMs: 10 })).toBe(256);
  });

  it('with slow reports only: falls as well', () => {
    const { run } = simulate();
    run(60, { startMs: 10 });
    expect(run(5, { startMs: 10, reportMs: 200 })).toBeLessThan(100);
  });

  it('with an engine that stays slower: its latency becomes the new baseline, and the limit recovers', () => {
    const { run } = simulate();
    run(60, { startMs: 10 });
    run(10, { startMs: 60 });
    expect(run(300, { startMs: 60 })).toBe(256);
  });

  it('with a latency that stays below twice the usual one: does not fall', () => {
    const { run } = simulate();
    run(60, { startMs: 10 });
    expect(run(5, { startMs: 18 })).toBe(256);
  });

  it('falls at once with each failed start, down to the floor', () => {
    const { limit } = simulate();
    limit.startFailed();
    expect(limit.value).toBe(58);
    for (let index = 0; index < 100; index++) limit.startFailed();
    expect(limit.value).toBe(16);
  });

  it('clamps an initial value to the bounds', () => {
    expect(new AdaptiveLimit({ min: 16, initial: 1_000, max: 256 }).value).toBe(256);
    expect(new AdaptiveLimit({ min: 16, initial: 1, max: 256 }).value).toBe(16);
  });
});

it('with an engine whose latency grows with the calls in flight, the limit settles where the queue is short', () => {
  // Up to this many concurrent calls take 10 ms each. More calls take longer, because the throughput is fixed.
  const atOnce = 30;
  const { limit, run } = simulate({ min: 4, initial: 256, max: 1_000 });
  run(5, { startMs: 10, inFlight: 20 });
  for (let second = 0; second < 60; second++) run(1, { startMs: 10 * Math.max(1, limit.value / atOnce) });
  expect(limit.value).toBeGreaterThan(atOnce);
  expect(limit.value).toBeLessThan(6 * atOnce);
});
