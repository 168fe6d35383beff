// Tests of the stopwatch: it counts time during which the process was suspended, whichever clock shows it.

import { afterEach, expect, it, vi } from 'vitest';
import { startStopwatch } from '#lib/conductor/stopwatch.ts';

afterEach(() => void vi.useRealTimers());

it('uses the wall clock when it has advanced further than the monotonic clock, as after a suspension', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const elapsedMs = startStopwatch();
  vi.setSystemTime(Date.now() + 90_000);
  expect(elapsedMs()).toBeGreaterThanOrEqual(90_000);
});

it('uses the monotonic clock when the wall clock was set back', () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  const elapsedMs = startStopwatch();
  vi.advanceTimersByTime(5_000);
  vi.setSystemTime(Date.now() - 3_600_000);
  expect(elapsedMs()).toBe(5_000);
});
