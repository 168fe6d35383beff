// Tests of the delay of 429 responses: its duration, its end when the client disconnects, and the maximum number of
// delayed responses.

import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRejectionDelay } from '../../../plugins/limits/rejection-delay.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const responseOf = (destroyed = false) => Object.assign(new EventEmitter(), { destroyed }) as unknown as ServerResponse;

/** Returns whether each delay has ended. */
async function ended(delays: readonly Promise<void>[]): Promise<boolean[]> {
  const seen = delays.map(() => false);
  delays.forEach((delay, index) => void delay.then(() => (seen[index] = true)));
  await vi.advanceTimersByTimeAsync(0);
  return seen;
}

describe('a rejection', () => {
  it('is sent after the delay', async () => {
    const response = responseOf();
    const delayed = createRejectionDelay(100)(response);
    await vi.advanceTimersByTimeAsync(99);
    expect(await ended([delayed])).toEqual([false]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await ended([delayed])).toEqual([true]);
    expect(response.listenerCount('close')).toBe(0);
  });

  it('stops waiting when the client disconnects', async () => {
    const response = responseOf();
    const delayed = createRejectionDelay(100)(response);
    response.emit('close');
    expect(await ended([delayed])).toEqual([true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is sent at once when the client has disconnected or the delay is 0', async () => {
    expect(await ended([createRejectionDelay(100)(responseOf(true)), createRejectionDelay(0)(responseOf())])).toEqual([
      true,
      true,
    ]);
  });

  it('is sent at once while 1,000 others are delayed', async () => {
    const delay = createRejectionDelay(100);
    const delayed = Array.from({ length: 1_000 }, () => delay(responseOf()));
    expect(await ended([...delayed.slice(-1), delay(responseOf())])).toEqual([false, true]);
    await vi.advanceTimersByTimeAsync(100);
    await Promise.all(delayed);
    expect(await ended([delay(responseOf())])).toEqual([false]);
  });
});
