// Tests of the progress line.

import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createProgress } from '../../../dev/setup/progress.mjs';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('prints at most one line every ten seconds, and no line twice, when there is no terminal', () => {
  const stream = new PassThrough();
  const progress = createProgress(stream as unknown as NodeJS.WriteStream);
  for (const line of ['1 of 2', '2 of 2', '2 of 2', '2 of 2', 'unpacking']) {
    progress.show(line);
    vi.advanceTimersByTime(10_000);
    progress.show(line);
  }
  expect(String(stream.read())).toBe('1 of 2\n2 of 2\nunpacking\n');
});
