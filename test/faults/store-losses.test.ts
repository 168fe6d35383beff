// Tests of Redis losses: a measured loss explains violations concerning operations it may have affected, and no others.

import { describe, expect, it } from 'vitest';
import { checkHistory } from './check-history.ts';
import type { AnyEvent } from './history.ts';
import { lossesOf, lostAlthoughSynced } from './store-losses.ts';

const target = '/mock/colleges/001/persons/1';
const invoke = (at: number, more: object = {}): AnyEvent => ({
  ...{ at, actor: 'client', event: 'invoke', op: 'a', route: 'adaptor', method: 'PATCH', target },
  ...{ budgetMs: 60_000, auth: 'good' },
  ...more,
});
const answer = (at: number, status: number, more: object = {}): AnyEvent => ({
  ...{ at, actor: 'client', event: 'answer', op: 'a', status, executionId: 'e1' },
  ...more,
});
const received = (at: number, more: object = {}): AnyEvent => ({
  ...{ at, actor: 'back-end', event: 'received', op: 'a', key: 'e1', method: 'PATCH' },
  target: `/adaptors/001${target}`,
  ...more,
});
const applied = (at: number, more: object = {}): AnyEvent => ({
  ...{ at, actor: 'back-end', event: 'applied', op: 'a', key: 'e1', target: `/adaptors/001${target}` },
  ...more,
});
const notified: AnyEvent = { at: 5_500, actor: 'mdm', event: 'notified', op: 'a', executionId: 'e1', effective: true };
const execution = (found: boolean): AnyEvent => ({
  ...{ at: 99_000, actor: 'observer', event: 'execution', executionId: 'e1', found },
});
const person: AnyEvent = {
  ...{ at: 99_000, actor: 'observer', event: 'person', mis: '001', id: '1', cccid: 'A', mdm: 'B', others: {} },
};
/** Redis is killed at 2000 and has lost the writes of the preceding second. */
const restarted = (more: object = {}): AnyEvent => ({
  ...{ at: 3_000, actor: 'observer', event: 'restarted', what: 'Redis', appendfsync: 'everysec' },
  ...{ marks: 100, lost: 50, from: 1_000, to: 2_000 },
  ...more,
});

const judge = (...events: AnyEvent[]) => {
  const { violations, explained } = checkHistory({ events });
  const texts = (some: typeof violations) => some.map(({ invariant, what }) => `${invariant} ${what}`);
  return { violations: texts(violations), explained: texts(explained) };
};

const unknown = 'I3 an accepted execution is unknown';
const gone = 'I3 an acknowledged execution is gone from its engine';
const untold = 'I2 MDM was not notified of a PATCH that got a 2xx';
const twice = 'I1 one PATCH was sent to the back end 2 times';
const accepted = (at: number) => [invoke(at - 10), answer(at, 202)];
const asked = (at: number) => [
  invoke(at, { op: 'b', operation: 'a' }),
  answer(at + 10, 404, { op: 'b', problem: 'execution-unknown', executionId: undefined }),
];
const wrote = (at: number) => [invoke(at - 20), received(at - 10), applied(at - 5), answer(at, 200)];

describe('a loss explains', () => {
  it.each<[string, AnyEvent[], string]>([
    ['an execution that was accepted in the lost second', [...accepted(1_500), ...asked(4_000)], unknown],
    [
      'an execution that was acknowledged in the lost second and is gone',
      [...wrote(1_500), execution(false), notified],
      gone,
    ],
    ['a PATCH of which MDM is not notified', wrote(1_500), untold],
    [
      'a write that was sent again because its report was lost',
      [invoke(900), received(1_200), applied(1_210), received(4_000), answer(4_010, 504)],
      twice,
    ],
    [
      'a write that was accepted before the loss and took effect in the lost second',
      [...accepted(500), received(1_200), applied(1_210), received(4_000)],
      twice,
    ],
    [
      'one key that was applied twice, for a request that no client made',
      [applied(1_500, { op: 'share', key: 'k' }), applied(4_000, { op: 'share', key: 'k' })],
      'I1 one key was applied 2 times',
    ],
    [
      'another value in MDM for a person that was changed in the lost second',
      [...wrote(1_500), notified, person],
      "I2 the cccid differs from that at the person's own college: MDM has B, the college A",
    ],
  ])('%s', (_title, events, expected) => {
    expect(judge(...events, restarted())).toEqual({ violations: [], explained: [expected] });
    // Without a loss, or with a loss of a server that syncs every write, the same events are a violation.
    for (const other of [[], [restarted({ lost: 0 })], [restarted({ appendfsync: 'always' })]])
      expect(judge(...events, ...other)).toEqual({ violations: [expected], explained: [] });
  });
});

describe('a loss does not explain', () => {
  it.each<[string, AnyEvent[], string]>([
    ['an execution that was accepted before the loss', [...accepted(900), ...asked(1_500)], unknown],
    [
      'an execution that was acknowledged before the loss and is gone',
      [...wrote(900), execution(false), notified],
      gone,
    ],
    ['a PATCH after the loss', wrote(4_000), untold],
    ['a PATCH before the loss', wrote(900), untold],
    [
      'another value in MDM for a person that was changed before the loss',
      [...wrote(900), notified, person],
      "I2 the cccid differs from that at the person's own college: MDM has B, the college A",
    ],
    ['a missing response', [invoke(1_500)], 'I5 neither answered nor closed'],
    [
      'a success without a token',
      [invoke(1_500, { auth: 'bad', method: 'GET' }), received(1_510, { method: 'GET' }), answer(1_520, 200)],
      'I7 answered 200 without a good token',
    ],
  ])('%s', (_title, events, expected) => {
    const { violations, explained } = judge(...events, restarted());
    expect(violations).toContain(expected);
    expect(explained).toEqual([]);
  });
});

describe('acknowledged executions at the end of a run', () => {
  it('are judged one by one', () => {
    expect(judge(...wrote(900), notified, execution(true)).violations).toEqual([]);
    const count = (...events: AnyEvent[]) => checkHistory({ events }).judged.I3;
    expect(count(...wrote(900), notified, execution(true))).toBe(count(...wrote(900), notified) + 1);
  });
});

describe('the losses of a run', () => {
  it('are undefined when no Redis was watched', () => {
    expect(lossesOf(wrote(900), [])).toBeUndefined();
  });

  it('add up over all restarts, with the duration of the longest loss', () => {
    const events = [restarted(), restarted({ lost: 0, from: 0 }), restarted({ lost: 7, from: 1_800 })];
    expect(lossesOf(events, [{ invariant: 'I3', subject: 'a', what: 'x' }])).toEqual({
      ...{ restarts: 3, marks: 300, lost: 57, longestMs: 1_000, explained: 1 },
      examples: [{ invariant: 'I3', subject: 'a', what: 'x' }],
    });
  });

  it('are reported as complaints when appendfsync is `always`', () => {
    expect(lostAlthoughSynced([restarted(), restarted({ appendfsync: 'always', lost: 0 })])).toEqual([]);
    expect(lostAlthoughSynced([restarted({ appendfsync: 'always' })])).toEqual([
      'Redis lost 50 of 100 acknowledged test writes despite appendfsync always',
    ]);
  });
});
