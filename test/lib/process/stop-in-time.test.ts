// Tests of the time limit for the graceful stop of a program.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { stopInTime } from '#lib/process/stop-in-time.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('allows the drain of the program and five minutes more, then rejects', async () => {
  let ended = false;
  const never = new Promise<void>(() => {});
  const stopped = stopInTime({ drainMs: () => 30_000, stop: () => never });
  const rejected = expect(stopped).rejects.toThrow('the graceful stop did not finish within 330 s');
  stopped.catch(() => (ended = true));
  await vi.advanceTimersByTimeAsync(329_999);
  expect(ended).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await rejected;
});

it('a program without a drain gets five minutes', async () => {
  const rejected = expect(stopInTime({ stop: () => new Promise(() => {}) })).rejects.toThrow('within 300 s');
  await vi.advanceTimersByTimeAsync(300_000);
  await rejected;
});

it('resolves when the stop does, and leaves no timer', async () => {
  await stopInTime({ drainMs: () => 30_000, stop: async () => undefined });
  expect(vi.getTimerCount()).toBe(0);
});

it('rejects when the stop throws', async () => {
  const stop = (): never => {
    throw new Error('no stop');
  };
  await expect(stopInTime({ stop })).rejects.toThrow('no stop');
});
