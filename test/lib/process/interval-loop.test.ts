// Tests of the interval loop, on fake timers.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type IntervalLoop, startIntervalLoop } from '#lib/process/interval-loop.ts';

let loop: IntervalLoop | undefined;
let startedAt: number[];

beforeEach(() => {
  vi.useFakeTimers();
  startedAt = [];
});
afterEach(async () => {
  const stopped = loop?.stop();
  await vi.runAllTimersAsync();
  await stopped;
  vi.useRealTimers();
});

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const runFor = (ms: number) => async () => {
  startedAt.push(performance.now() - begun);
  await sleep(ms);
};
let begun: number;

function start(options: Partial<Parameters<typeof startIntervalLoop>[0]>): void {
  begun = performance.now();
  loop = startIntervalLoop({ run: runFor(0), intervalMs: 1_000, ...options });
}

describe('startIntervalLoop', () => {
  it('runs at once, then at the interval, measured from start to start', async () => {
    start({ run: runFor(300) });
    await vi.advanceTimersByTimeAsync(2_500);
    expect(startedAt).toEqual([0, 1_000, 2_000]);
  });

  it('starts the next run at once when a run took longer than the interval', async () => {
    start({ run: runFor(1_700) });
    await vi.advanceTimersByTimeAsync(3_500);
    // Node turns a delay of 0 ms into 1 ms.
    expect(startedAt).toEqual([0, 1_701, 3_402]);
  });

  it('waits for the initial delay, and for the delay that a run returns', async () => {
    start({
      initialDelayMs: 60,
      run: async () => {
        startedAt.push(performance.now() - begun);
        return 40;
      },
    });
    await vi.advanceTimersByTimeAsync(150);
    expect(startedAt).toEqual([60, 100, 140]);
  });

  it('stop aborts the signal, resolves when the current run has ended, and prevents further runs', async () => {
    let ended = false;
    let aborted = false;
    start({
      run: async (signal) => {
        startedAt.push(performance.now() - begun);
        signal.addEventListener('abort', () => (aborted = true));
        await sleep(500);
        ended = true;
      },
    });
    const stopped = loop!.stop().then(() => expect(ended).toBe(true));
    expect(aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(10_000);
    await stopped;
    expect(startedAt).toEqual([0]);
  });
});
