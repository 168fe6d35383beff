// Tests of the handler of requests to stop: which requests end a process at once.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { stopRequestHandler } from '#lib/process/stop-requests.ts';

let calls: string[];
let request: (reason: string) => void;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  calls = [];
  const note = (action: string) => (reason: string) => void calls.push(`${action} ${reason}`);
  request = stopRequestHandler({ stop: note('stop'), end: note('end') });
});
afterEach(() => void vi.useRealTimers());

it('ignores the same signal within a second, and ends the process when it comes later', () => {
  request('SIGTERM');
  vi.advanceTimersByTime(999);
  request('SIGTERM');
  expect(calls).toEqual(['stop SIGTERM']);
  vi.advanceTimersByTime(1);
  request('SIGTERM');
  expect(calls).toEqual(['stop SIGTERM', 'end SIGTERM']);
});

it('ends the process at once on another signal', () => {
  request('SIGTERM');
  request('SIGINT');
  expect(calls).toEqual(['stop SIGTERM', 'end SIGINT']);
});
