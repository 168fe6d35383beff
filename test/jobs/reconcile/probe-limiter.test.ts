// Tests of the probe limiter, which leaves worker capacity for clients.

import { describe, expect, it } from 'vitest';
import { configSchema } from '#lib/config/schema.ts';
import { ProbeLimiter } from '../../../jobs/reconcile/probe-limiter.ts';

const now = 1_795_275_400_000;
const afterMs = 60_000;
const concurrency = configSchema.properties['workers.concurrency'] as { default: number };

/** Returns how many of a hundred executions acquire a permit. */
function countTurns(turns: ProbeLimiter, backEnd: string, at = now): number {
  return Array.from({ length: 100 }, (_, index) =>
    turns.tryAcquire({ backEnd, executionId: `${backEnd}-${index}` }, at),
  ).filter(Boolean).length;
}

describe('probes of one back end', () => {
  it('that is not known to respond → one probe at a time', () => {
    expect(countTurns(new ProbeLimiter(afterMs), '001')).toBe(1);
  });

  it('each response doubles the limit, up to half of the tasks that a worker runs concurrently', () => {
    const turns = new ProbeLimiter(afterMs);
    const granted = [1, 2, 3, 4, 5].map(() => {
      const count = countTurns(turns, '001');
      for (let index = 0; index < 100; index++)
        turns.update({ backEnd: '001', executionId: `001-${index}` }, 'answered', now);
      return count;
    });
    const most = concurrency.default / 2;
    expect(granted).toEqual([1, 2, most, most, most]);
  });

  it('no response → no probe for the first pause, then one probe, then none for twice as long', () => {
    const turns = new ProbeLimiter(afterMs);
    const ask = (at: number) => {
      const mayAsk = turns.tryAcquire({ backEnd: '001', executionId: 'e-1' }, at);
      turns.update({ backEnd: '001', executionId: 'e-1' }, 'unanswered', at);
      return mayAsk;
    };
    expect([ask(now), ask(now + 59_999), ask(now + 60_000)]).toEqual([true, false, true]);
    expect([ask(now + 179_999), ask(now + 180_000)]).toEqual([false, true]);
  });

  it('an execution that was settled in another way releases its permit', () => {
    const turns = new ProbeLimiter(afterMs);
    expect([
      turns.tryAcquire({ backEnd: '001', executionId: 'e-1' }, now),
      turns.tryAcquire({ backEnd: '001', executionId: 'e-2' }, now),
    ]).toEqual([true, false]);
    turns.release('e-1');
    expect(turns.tryAcquire({ backEnd: '001', executionId: 'e-2' }, now)).toBe(true);
  });

  it('a probe that an earlier process started counts towards the limit', () => {
    const turns = new ProbeLimiter(afterMs);
    turns.update({ backEnd: '001', executionId: 'e-1' }, 'under-way', now);
    expect(turns.tryAcquire({ backEnd: '001', executionId: 'e-2' }, now)).toBe(false);
  });
});

describe('probes of several back ends', () => {
  it('two probes in total while no back end is known to respond', () => {
    const turns = new ProbeLimiter(afterMs);
    expect(['001', '002', '003', '004'].map((backEnd) => countTurns(turns, backEnd))).toEqual([1, 1, 0, 0]);
  });

  it('two probes that wait for the workers of their task domains do not delay the probes of other back ends', () => {
    const turns = new ProbeLimiter(afterMs);
    const acquire = (backEnd: string, domain?: string) =>
      turns.tryAcquire({ backEnd, domain, executionId: `${backEnd}-1` }, now);
    expect([acquire('002', '002'), acquire('003', '003')]).toEqual([true, true]);
    for (const mis of ['002', '003'])
      turns.update({ backEnd: mis, domain: mis, executionId: `${mis}-1` }, 'under-way', now + afterMs);
    expect([acquire('001'), acquire('004', '004')]).toEqual([true, true]);
    expect(turns.mayAcquire({ backEnd: '005' }, now)).toBe(true);
  });

  it('probes of a back end that responds are not delayed by back ends that do not respond', () => {
    const turns = new ProbeLimiter(afterMs);
    turns.tryAcquire({ backEnd: '001', executionId: 'e-1' }, now);
    turns.update({ backEnd: '001', executionId: 'e-1' }, 'answered', now);
    expect(['002', '003', '001'].map((backEnd) => countTurns(turns, backEnd))).toEqual([1, 1, 2]);
  });
});

describe('an execution whose probe does not appear in the index', () => {
  it('holds its permit for ten minutes at most', () => {
    const limiter = new ProbeLimiter(60_000);
    const [proven, hidden] = [
      { backEnd: '001', executionId: 'patch-1' },
      { backEnd: '001', executionId: 'patch-2' },
    ];
    expect(limiter.tryAcquire(proven, 0)).toBe(true);
    limiter.update(proven, 'answered', 0);
    expect(limiter.tryAcquire(hidden, 0)).toBe(true);
    expect([1, 599_999, 600_000].map((at) => limiter.isProbing(hidden, at))).toEqual([true, true, false]);
  });
});
