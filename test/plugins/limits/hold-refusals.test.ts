// A refusal is held for its time, not for a caller that has gone, and never for more callers than may be held.

import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRefusalHold } from '../../../plugins/limits/hold-refusals.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const responseOf = (destroyed = false) => Object.assign(new EventEmitter(), { destroyed }) as unknown as ServerResponse;

/** Whether each is let go by now. */
async function letGo(holds: readonly Promise<void>[]): Promise<boolean[]> {
  const seen = holds.map(() => false);
  holds.forEach((hold, index) => void hold.then(() => (seen[index] = true)));
  await vi.advanceTimersByTimeAsync(0);
  return seen;
}

describe('a refusal', () => {
  it('leaves when its time is over', async () => {
    const response = responseOf();
    const held = createRefusalHold(100)(response);
    await vi.advanceTimersByTimeAsync(99);
    expect(await letGo([held])).toEqual([false]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await letGo([held])).toEqual([true]);
    expect(response.listenerCount('close')).toBe(0);
  });

  it('is let go when its caller leaves', async () => {
    const response = responseOf();
    const held = createRefusalHold(100)(response);
    response.emit('close');
    expect(await letGo([held])).toEqual([true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('of a caller that has left, or with no time configured: leaves at once', async () => {
    expect(await letGo([createRefusalHold(100)(responseOf(true)), createRefusalHold(0)(responseOf())])).toEqual([
      true,
      true,
    ]);
  });

  it('beyond a thousand that are held: leaves at once, until one of them has left', async () => {
    const hold = createRefusalHold(100);
    const held = Array.from({ length: 1_000 }, () => hold(responseOf()));
    expect(await letGo([...held.slice(-1), hold(responseOf())])).toEqual([false, true]);
    await vi.advanceTimersByTimeAsync(100);
    await Promise.all(held);
    expect(await letGo([hold(responseOf())])).toEqual([false]);
  });
});
