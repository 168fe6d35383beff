// Tests of the result budget: a large result waits while other results fill the budget, a small result never waits, and
// the waiting result of a worker that disconnects is removed.

import { getHeapStatistics } from 'node:v8';
import { describe, expect, it, vi } from 'vitest';
import { ResultBudget, smallResultBytes } from '../../../../plugins/conductor/dispatch/result-budget.ts';

const large = smallResultBytes + 1;
const never = new AbortController().signal;
/** Returns a budget for this many large results. Each result belongs to a new client by default. */
function budgetFor(results: number, maxWaitMs = 60_000) {
  const budget = new ResultBudget({ bytes: results * large, maxWaitMs });
  let clients = 0;
  const hold = (bytes: number, gone: AbortSignal, client = `client ${clients++}`) =>
    budget.hold({ bytes, client, gone });
  return {
    hold,
    get held() {
      return budget.held;
    },
    get waiting() {
      return budget.waiting;
    },
  };
}

/** Returns whether a result has already been admitted. */
async function isIn(held: Promise<unknown>): Promise<boolean> {
  return Promise.race([held.then(() => true), new Promise<false>((resolve) => setImmediate(resolve, false))]);
}

describe('ResultBudget', () => {
  it('admits results up to its size in bytes, and the next one when a result is released', async () => {
    const budget = budgetFor(2);
    const [one] = [await budget.hold(large, never), await budget.hold(large, never)];
    const third = budget.hold(large, never);
    expect(await isIn(third)).toBe(false);
    expect([budget.held, budget.waiting]).toEqual([2 * large, 1]);
    one?.();
    expect(await isIn(third)).toBe(true);
    expect([budget.held, budget.waiting]).toEqual([2 * large, 0]);
  });

  it('admits small results at once', async () => {
    const budget = budgetFor(1);
    await budget.hold(large, never);
    expect(await isIn(budget.hold(smallResultBytes, never))).toBe(true);
    expect(budget.held).toBe(large);
  });

  it('admits a result that is larger than the whole budget when no other is held', async () => {
    const budget = budgetFor(2);
    const first = await budget.hold(large, never);
    const giant = budget.hold(10 * large, never);
    expect(await isIn(giant)).toBe(false);
    first();
    expect(await isIn(giant)).toBe(true);
    expect(await isIn(budget.hold(large, never))).toBe(false);
  });

  it('does not let smaller results overtake a larger one', async () => {
    const budget = budgetFor(3);
    await budget.hold(large, never);
    const first = await budget.hold(large, never);
    const giant = budget.hold(2 * large, never);
    const lesser = budget.hold(large, never);
    expect(await isIn(lesser)).toBe(false);
    first();
    expect(await isIn(giant)).toBe(true);
    expect(await isIn(lesser)).toBe(false);
  });

  it('limits one client to half of the budget, and its waiting results do not delay other clients', async () => {
    const budget = budgetFor(4);
    const own = [await budget.hold(large, never, 'slow'), await budget.hold(large, never, 'slow')];
    const third = budget.hold(large, never, 'slow');
    expect(await isIn(third)).toBe(false);
    expect(await isIn(budget.hold(large, never, 'other'))).toBe(true);
    expect(await isIn(third)).toBe(false);
    own[0]?.();
    expect(await isIn(third)).toBe(true);
  });

  it('lets a client hold one result that is larger than half of the budget when no other client waits', async () => {
    const budget = budgetFor(2);
    const whole = await budget.hold(2 * large, never, 'one');
    const next = budget.hold(large, never, 'one');
    expect(await isIn(next)).toBe(false);
    whole();
    expect(await isIn(next)).toBe(true);
  });

  it('removes the waiting result of a worker that disconnects, and admits the next one', async () => {
    const budget = budgetFor(2);
    const first = await budget.hold(large, never);
    const gone = new AbortController();
    const left = budget.hold(2 * large, gone.signal);
    const behind = budget.hold(large, never);
    gone.abort();
    await expect(left).rejects.toMatchObject({ code: 'malformed-request' });
    expect(await isIn(behind)).toBe(true);
    first();
    expect([budget.held, budget.waiting]).toEqual([large, 0]);
  });

  it('rejects the result of a worker that has already disconnected', async () => {
    const budget = budgetFor(1);
    await budget.hold(large, never);
    await expect(budget.hold(large, AbortSignal.abort())).rejects.toMatchObject({ code: 'malformed-request' });
    expect(budget.waiting).toBe(0);
  });

  it('rejects with 503 and Retry-After when the wait is too long', async () => {
    vi.useFakeTimers();
    try {
      const budget = budgetFor(1, 10_000);
      await budget.hold(large, never);
      const refused = expect(budget.hold(large, never)).rejects.toMatchObject({
        code: 'overloaded',
        headers: { 'retry-after': '1', connection: 'close' },
      });
      await vi.advanceTimersByTimeAsync(10_000);
      await refused;
      expect([budget.held, budget.waiting]).toEqual([large, 0]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is 1/32 of the heap limit by default', async () => {
    const budget = new ResultBudget({ maxWaitMs: 1_000 });
    await budget.hold({ bytes: getHeapStatistics().heap_size_limit, client: 'one', gone: never });
    expect(budget.held).toBe(Math.floor(getHeapStatistics().heap_size_limit / 32));
  });
});
