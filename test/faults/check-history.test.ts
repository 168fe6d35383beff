// The checker finds each violation of each invariant when it is there, and none when it is not.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkHistory, type Evidence } from './check-history.ts';
import { countLateWrites, countReplays, countUnacknowledged, recoveryTimes } from './figures.ts';
import { type AnyEvent, History, type Route } from './history.ts';

const target = '/mock/colleges/001/persons/1';

interface Given {
  at?: number;
  op?: string;
  method?: string;
  route?: Route;
  auth?: 'good' | 'bad';
  key?: string;
  router?: string;
}

const invoke = (given: Given = {}): AnyEvent => ({
  ...{ at: 0, actor: 'client', event: 'invoke', op: 'a', route: 'adaptor', method: 'PATCH', target },
  ...{ budgetMs: 1_000, auth: 'good' },
  ...given,
});
const answer = (status: number, more: object = {}): AnyEvent => ({
  ...{ at: 20, actor: 'client', event: 'answer', op: 'a', status },
  ...more,
});
const closed = (at = 20): AnyEvent => ({ at, actor: 'client', event: 'closed', op: 'a', reason: 'ECONNRESET' });
const received = (more: object = {}): AnyEvent => ({
  ...{ at: 9, actor: 'back-end', event: 'received', op: 'a', key: 'e1', method: 'PATCH' },
  target: `/adaptors/001${target}`,
  ...more,
});
const applied = (more: object = {}): AnyEvent => ({
  ...{ at: 10, actor: 'back-end', event: 'applied', op: 'a', key: 'e1', target: `/adaptors/001${target}` },
  ...more,
});
const notified = (effective = true): AnyEvent => ({
  ...{ at: 30, actor: 'mdm', event: 'notified', op: 'a', executionId: 'e1', effective },
});
const fault = (spares: Route[], at = 0): AnyEvent => ({ at, actor: 'nemesis', event: 'fault', what: 'x', spares });
const stopped = (router: string): AnyEvent => ({
  ...{ at: 5, actor: 'nemesis', event: 'fault', what: 'x', spares: [], stops: router },
});
const repaired = (at: number): AnyEvent => ({ at, actor: 'nemesis', event: 'repaired', what: 'x' });
const get = { method: 'GET', route: 'movies' } as const;

const good = [invoke(), received(), applied(), answer(200, { executionId: 'e1', right: true }), notified()];

const found = (events: AnyEvent[], more: Partial<Evidence> = {}) =>
  checkHistory({ events, ...more }).map(({ invariant, what }) => `${invariant} ${what}`);

describe('a history in which all is well', () => {
  it.each<[string, AnyEvent[]]>([
    ['nothing happened', []],
    ['a PATCH was applied, answered and told to MDM', good],
    ['MDM was told twice and counted it once', [...good, notified(false)]],
    [
      'what followed at another college carries the same id',
      [...good, applied({ key: 'e2', target: '/adaptors/002/mock/colleges/002/persons/7' })],
    ],
    ['a write of unknown outcome was applied', [invoke(), received(), applied(), answer(504)]],
    ['a write of unknown outcome was not', [invoke(), answer(504)]],
    [
      'the reconciler asked what became of it',
      [invoke(), received(), applied(), answer(504), received({ method: 'GET', key: undefined })],
    ],
    [
      'a keyed write was refused, then started and lost, then replayed',
      [
        ...[invoke({ op: 'z', key: 'k' }), answer(503, { op: 'z', problem: 'idempotency-unavailable' })],
        ...[invoke({ key: 'k' }), received(), applied(), answer(504, { executionId: 'e1' }), notified()],
        ...[invoke({ op: 'b', key: 'k' }), answer(200, { op: 'b', executionId: 'e1', right: true })],
      ],
    ],
    [
      'a stopped router kept a request past its budget',
      [invoke({ router: 'one' }), stopped('one'), repaired(9_000), closed(9_500)],
    ],
    ['the connection broke', [invoke(), closed()]],
    ['a token was issued', [invoke({ method: 'POST', route: 'token' }), answer(200)]],
    ['a back end answered 503 itself', [invoke(), received(), answer(503)]],
    ['a request without a token was refused', [invoke({ auth: 'bad', route: 'refused' }), answer(401)]],
    [
      'a spared route failed outside the fault',
      [fault(['movies']), repaired(5), invoke({ ...get, at: 6 }), answer(503)],
    ],
  ])('%s: no violation', (_title, events) => {
    expect(found(events, { texts: [{ name: 'log', text: 'quiet' }], secrets: ['hush'] })).toEqual([]);
  });
});

describe('a history in which something is wrong', () => {
  it.each<[string, AnyEvent[], string]>([
    ['I1: applied twice', [...good, applied({ key: 'e9' })], 'I1 one PATCH was applied 2 times'],
    [
      'I1: sent twice after an unknown outcome',
      [invoke(), received(), received(), applied(), answer(504)],
      'I1 one PATCH was sent to the back end 2 times',
    ],
    [
      'I1: one key applied twice, for a request that no client made',
      [applied({ op: 'share', key: 'k' }), applied({ op: 'share', key: 'k' })],
      'I1 one key was applied 2 times',
    ],
    [
      'I1: told that nothing was started',
      [invoke(), received(), applied(), answer(503, { problem: 'engine-unavailable' })],
      'I1 answered 503 (not started), but the back end got it',
    ],
    [
      'I1: two executions applied one key of a client',
      [
        ...[invoke({ key: 'k' }), received(), applied(), answer(504)],
        ...[invoke({ op: 'b', key: 'k' }), received({ op: 'b', key: 'e2' }), applied({ op: 'b', key: 'e2' })],
        answer(200, { op: 'b', executionId: 'e2', right: true }),
      ],
      'I1 one PATCH was applied 2 times',
    ],
    [
      'I1: the back end absorbed a write that was sent twice',
      [...good, received(), { ...applied(), event: 'replayed' } as AnyEvent],
      'I1 one PATCH was sent to the back end 2 times',
    ],
    [
      'I1: a keyed write was applied after its request was told that nothing was started',
      [invoke({ key: 'k' }), received(), applied(), answer(503, { problem: 'idempotency-unavailable' })],
      'I1 answered 503 (not started), but the back end got it',
    ],
    [
      'I3: a keyed write succeeded although no request with its key was applied',
      [invoke({ key: 'k' }), answer(504), invoke({ op: 'b', key: 'k' }), answer(200, { op: 'b' })],
      'I3 answered 200, but never applied',
    ],
    [
      'I3: answered with the execution of another request',
      [...good, invoke({ op: 'b' }), answer(504, { op: 'b', executionId: 'e1' })],
      'I3 was answered with the execution of another request',
    ],
    [
      'I5: a request at a router that was not stopped was late',
      [invoke({ router: 'two' }), stopped('one'), repaired(9_000), closed(9_500)],
      'I5 open for 9500 ms with a budget of 1000',
    ],
    [
      'I5: a request at a stopped router ended after it was continued, too late',
      [invoke({ at: 9_001, router: 'one' }), stopped('one'), repaired(9_000), closed(19_000)],
      'I5 open for 9999 ms with a budget of 1000',
    ],
    ['I2: MDM was not told', good.slice(0, -1), 'I2 a 2xx PATCH of which MDM did not hear'],
    ['I2: MDM counted it twice', [...good, notified()], 'I2 one request made 2 effective updates of MDM'],
    [
      'I2: MDM was told of nothing',
      [invoke(), answer(504), notified()],
      'I2 MDM was told of a change that nobody applied',
    ],
    [
      'I3: success without a change',
      [invoke(), received(), answer(200), notified()],
      'I3 answered 200, but never applied',
    ],
    ['I3: success without a back end', [invoke(get), answer(200)], 'I3 answered 200, but no back end was asked'],
    [
      'I3: half a response',
      [invoke(get), received({ method: 'GET' }), answer(200, { right: false })],
      "I3 answered 200 with another body than the back end's",
    ],
    ['I5: never answered', [invoke()], 'I5 neither answered nor closed'],
    ['I5: answered late', [invoke(), answer(504, { at: 3_001 })], 'I5 open for 3001 ms with a budget of 1000'],
    ['I5: closed late', [invoke(), closed(3_500)], 'I5 open for 3500 ms with a budget of 1000'],
    ['I5: answered twice', [invoke(), answer(504), answer(504)], 'I5 ended 2 times'],
    ['I6: a spared route failed', [fault(['movies']), invoke(get), answer(503)], 'I6 movies answered 503 during x'],
    ['I6: a spared route hung', [fault(['movies']), invoke(get), closed()], 'I6 movies was not answered during x'],
    [
      'I6: a spared route was slow',
      [fault(['health']), invoke({ ...get, route: 'health' }), answer(200, { at: 2_500 })],
      'I6 health took 2500 ms during x',
    ],
    ['I7: let in without a token', [invoke({ auth: 'bad' }), answer(200)], 'I7 answered 200 without a good token'],
    [
      'I7: refused, but done',
      [invoke({ auth: 'bad' }), received(), answer(401)],
      'I7 reached a back end without a good token',
    ],
    [
      'I7: started, but not answered',
      [invoke({ auth: 'bad' }), answer(504, { executionId: 'e1' })],
      'I7 answered 504 without a good token',
    ],
  ])('%s', (_title, events, expected) => {
    expect(found(events)).toContain(expected);
  });

  it('with slack, late is later', () => {
    const late = [invoke(), received(), answer(504, { at: 6_000 })];
    expect(found(late)).toEqual(['I5 open for 6000 ms with a budget of 1000']);
    expect(found(late, { slack: 3 })).toEqual([]);
    expect(found([invoke(), answer(504, { at: 7_100 })], { slack: 3 })).toHaveLength(1);
  });

  it('I4: a secret was written down', () => {
    const texts = [{ name: 'router.log', text: 'authorization: Bearer hush' }];
    expect(checkHistory({ events: good, texts, secrets: ['other', 'hush'] })).toEqual([
      { invariant: 'I4', subject: 'router.log', what: 'contains secret number 2' },
    ]);
  });
});

describe('figures', () => {
  it('recovery is counted from the repair to the first success of a request sent after it', () => {
    const events = [
      invoke({ ...get, op: 'early', at: 0 }),
      repaired(100),
      answer(200, { op: 'early', at: 110 }),
      invoke({ ...get, op: 'refused', at: 120 }),
      answer(503, { op: 'refused', at: 130 }),
      invoke({ ...get, op: 'served', at: 140 }),
      answer(200, { op: 'served', at: 180 }),
    ];
    expect(recoveryTimes(events)).toEqual([{ what: 'x', ms: 80 }]);
  });

  it('no success after the repair is an infinite time, not a good one', () => {
    expect(recoveryTimes([repaired(1)])).toEqual([{ what: 'x', ms: Number.POSITIVE_INFINITY }]);
  });

  it('applied writes that nobody was told of are counted, and those of which MDM did not hear', () => {
    expect(countUnacknowledged([invoke(), received(), applied(), answer(504)])).toEqual({ applied: 1, withoutMdm: 1 });
    expect(countUnacknowledged([invoke(), applied(), closed(), notified()])).toEqual({ applied: 1, withoutMdm: 0 });
    expect(countUnacknowledged(good)).toEqual({ applied: 0, withoutMdm: 0 });
  });

  it('repeated writes that a back end absorbed are counted apart from those it applied', () => {
    expect(countReplays([...good, { ...applied(), event: 'replayed' } as AnyEvent])).toBe(1);
    expect(countReplays(good)).toBe(0);
  });

  it('a keyed write is acknowledged by any of its requests, and counted once', () => {
    const lost = [invoke({ key: 'k' }), received(), applied(), answer(504), invoke({ op: 'b', key: 'k' })];
    expect(countUnacknowledged(lost)).toEqual({ applied: 1, withoutMdm: 1 });
    expect(countUnacknowledged([...lost, answer(200, { op: 'b' })])).toEqual({ applied: 0, withoutMdm: 0 });
  });

  it('writes are late by the time since the request that was applied', () => {
    const repeated = [invoke({ key: 'k' }), invoke({ at: 90, op: 'b', key: 'k' }), applied({ at: 100, op: 'b' })];
    expect([countLateWrites(repeated, 9), countLateWrites(repeated, 10)]).toEqual([1, 0]);
    expect([countLateWrites(good, 9), countLateWrites(good, 10)]).toEqual([1, 0]);
  });
});

it('a history file gives back what was appended', () => {
  const dir = mkdtempSync(join(tmpdir(), 'history-'));
  try {
    const history = new History(join(dir, 'history.jsonl'));
    history.append({ actor: 'nemesis', event: 'fault', what: 'x', spares: ['token'] });
    history.append({ actor: 'nemesis', event: 'repaired', what: 'x' });
    expect(history.read()).toMatchObject([{ event: 'fault', spares: ['token'] }, { event: 'repaired' }]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
