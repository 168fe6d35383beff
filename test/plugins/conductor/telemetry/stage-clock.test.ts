// Tests of the stages of a request: each moment belongs to exactly one stage, whatever the order of events.

import { fc } from '../../../run/properties.ts';
import { describe, expect, it } from 'vitest';
import { formatServerTiming, StageClock, stages } from '../../../../plugins/conductor/telemetry/stage-clock.ts';

/** Returns the clock of a request that was received at 100 ms and admitted at 110 ms, after 5 ms in the queue. */
function begun(): StageClock {
  const clock = new StageClock(100);
  clock.enter('queue', 105);
  clock.enter('router', 110);
  clock.enter('engine', 112);
  return clock;
}

const none = { router: 0, queue: 0, engine: 0, worker: 0, back_end: 0, elsewhere: 0 };

describe('the stages of a request', () => {
  it('a task that is polled, executed and reported: each stage gets its time', () => {
    const clock = begun();
    clock.enter('queue', 118);
    clock.handedOut(121);
    clock.reported(141, 15);
    clock.ended(146, true);
    expect(clock.times(148)).toEqual({
      router: 5 + 2 + 2,
      queue: 5 + 3,
      engine: 6 + 5,
      worker: 5,
      back_end: 15,
      elsewhere: 0,
    });
  });

  it('a worker that reports no back-end time: all of its time counts as worker', () => {
    const clock = begun();
    clock.handedOut(118);
    clock.reported(138);
    expect(clock.times(138)).toMatchObject({ worker: 20, back_end: 0 });
  });

  it('a worker that reports more back-end time than has passed: no stage is negative', () => {
    const clock = begun();
    clock.handedOut(118);
    clock.reported(128, 1_000);
    expect(clock.times(128)).toMatchObject({ worker: 0, back_end: 10 });
  });

  it('a task handed out again after its first worker disconnected: the wait for the second counts as queue', () => {
    const clock = begun();
    clock.enter('queue', 118);
    clock.handedOut(120);
    clock.enter('queue', 120);
    clock.handedOut(130);
    clock.reported(135, 1);
    expect(clock.times(135)).toMatchObject({ queue: 5 + 2 + 10, worker: 4, back_end: 1 });
  });

  it('an execution that ends without a task on this router: the wait counts as elsewhere', () => {
    const clock = begun();
    clock.enter('queue', 118);
    clock.ended(168, true);
    expect(clock.times(170)).toMatchObject({ queue: 5, elsewhere: 50, router: 5 + 2 + 2 });
  });

  it('a request that is given up in the queue: the wait counts as queue', () => {
    const clock = begun();
    clock.enter('queue', 118);
    clock.ended(168, false);
    expect(clock.times(168)).toMatchObject({ queue: 55, elsewhere: 0 });
  });

  it('any events in any order: the stages add up to the total, and none is negative', () => {
    const event = fc.record({
      kind: fc.integer({ min: 0, max: 5 }),
      after: fc.integer({ min: 0, max: 50 }),
      claim: fc.integer({ min: 0, max: 200 }),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 20 }), (events) => {
        const clock = new StageClock(1_000);
        let now = 1_000;
        for (const { kind, after, claim } of events) {
          now += after;
          if (kind === 0) clock.handedOut(now);
          else if (kind === 1) clock.reported(now, claim);
          else if (kind === 2) clock.ended(now, claim % 2 === 0);
          else clock.enter((['router', 'queue', 'engine'] as const)[kind - 3]!, now);
        }
        const times = clock.times(now);
        expect(stages.reduce((sum, stage) => sum + times[stage], 0)).toBeCloseTo(now - 1_000, 6);
        for (const stage of stages) expect(times[stage]).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe('Server-Timing', () => {
  it.each([
    [none, 'total;dur=0.0'],
    [{ ...none, router: 1.26, back_end: 3 }, 'router;dur=1.3, back_end;dur=3.0, total;dur=4.3'],
  ])('%j → %s', (times, expected) => {
    expect(formatServerTiming(times)).toBe(expected);
  });
});
