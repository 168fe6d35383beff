// Tests of the figures of a run: availability without a fault, recovery, and unacknowledged writes.

import { describe, expect, it } from 'vitest';
import {
  availabilityOf,
  countEnds,
  countLateWrites,
  countPatches,
  countReplays,
  countUnacknowledged,
  longestRepetition,
  quantilesOf,
  recoveriesOf,
} from './figures.ts';
import type { ComponentKind } from './component.ts';
import type { AnyEvent, FaultDescription } from './history.ts';

const target = '/mock/colleges/001/persons/1';
const invoke = (op: string, at: number, more: object = {}): AnyEvent => ({
  ...{ at, actor: 'client', event: 'invoke', op, route: 'adaptor', method: 'PATCH', target, budgetMs: 1_000 },
  auth: 'good',
  ...more,
});
const read = (op: string, at: number, more: object = {}) => invoke(op, at, { method: 'GET', route: 'movies', ...more });
const answer = (op: string, at: number, status = 200, more: object = {}): AnyEvent => ({
  ...{ at, actor: 'client', event: 'answer', op, status },
  ...more,
});
const applied = (op: string, at = 10): AnyEvent => ({
  ...{ at, actor: 'back-end', event: 'applied', op, key: `key-${op}`, target: `/adaptors/001${target}` },
});
const notified = (op: string): AnyEvent => ({
  ...{ at: 30, actor: 'mdm', event: 'notified', op, executionId: 'e', effective: true },
});
const fault = (at: number, more: Partial<FaultDescription> = {}): AnyEvent => ({
  ...{ at, actor: 'nemesis', event: 'fault', what: 'x', spares: [], breaks: ['movies'] },
  ...more,
});
const repaired = (at: number, what = 'x'): AnyEvent => ({ at, actor: 'nemesis', event: 'repaired', what });

describe('recovery', () => {
  it('lasts from the repair, and an outage lasts from the fault, to the first success of a later request', () => {
    const events = [
      ...[read('early', 0), fault(50), repaired(100), answer('early', 110)],
      ...[read('refused', 120), answer('refused', 130, 503), read('served', 140), answer('served', 180)],
    ];
    expect(recoveriesOf(events)).toEqual([{ kind: 'x', ms: 80, outageMs: 130 }]);
  });

  it('has an outage that ends before the repair when another component serves the route', () => {
    const events = [fault(0), read('a', 10), answer('a', 30), repaired(100), read('b', 110), answer('b', 115)];
    expect(recoveriesOf(events)).toEqual([{ kind: 'x', ms: 15, outageMs: 30 }]);
  });

  it.each<[string, AnyEvent[]]>([
    ['a success on another route', [read('a', 20, { route: 'adaptor' }), answer('a', 30)]],
    ['a success at another router', [read('a', 20, { router: 'two' }), answer('a', 30)]],
    ['a success without a good token', [read('a', 20, { auth: 'bad' }), answer('a', 30)]],
    ['an accepted request', [read('a', 20), answer('a', 30, 202)]],
    ['nothing at all', []],
  ])('%s is not a recovery', (_title, events) => {
    const [recovery] = recoveriesOf([fault(0, { stops: 'one' }), repaired(10), ...events]);
    expect(recovery).toEqual({ kind: 'x', ms: undefined, outageMs: undefined });
  });

  it('waits for the slowest of several broken routes', () => {
    const served = [read('a', 20), answer('a', 30), read('b', 20, { route: 'keyed' }), answer('b', 90)];
    const [recovery] = recoveriesOf([fault(0, { breaks: ['movies', 'keyed'] }), repaired(10), ...served]);
    expect(recovery?.ms).toBe(80);
  });

  it('is not reported when no route broke or nothing was repaired', () => {
    expect(recoveriesOf([fault(0, { breaks: [] }), repaired(1), fault(2, { what: 'y' })])).toEqual([]);
  });
});

describe('availability without a fault', () => {
  it('counts requests that were neither sent nor completed during a fault or its aftermath', () => {
    const events = [
      ...[read('before', 0), answer('before', 10), read('hit', 15), fault(20), answer('hit', 25, 503), repaired(30)],
      ...[read('aftermath', 40), answer('aftermath', 45, 503), read('after', 90), answer('after', 95)],
    ];
    expect(availabilityOf(events, 50)).toEqual({ requests: 2, succeeded: 2 });
  });

  it.each<[string, number, AnyEvent[]]>([
    ['a problem', 0, [read('a', 0), answer('a', 1, 503)]],
    ['a connection that broke', 0, [read('a', 0), { at: 1, actor: 'client', event: 'closed', op: 'a', reason: 'x' }]],
    ['neither a response nor a lost connection', 0, [read('a', 0)]],
    ['an accepted request', 1, [read('a', 0), answer('a', 1, 202)]],
  ])('%s: %i succeeded', (_title, succeeded, events) => {
    expect(availabilityOf(events, 0)).toEqual({ requests: 1, succeeded });
  });

  it.each<[string, AnyEvent[]]>([
    ['a bad token', [read('a', 0, { auth: 'bad' }), answer('a', 1, 401)]],
    ['a path that does not exist', [read('a', 0, { route: 'refused' }), answer('a', 1, 404)]],
    ['a client that left', [read('a', 0), { at: 1, actor: 'client', event: 'closed', op: 'a', reason: 'gone' }]],
    ['a repetition that came too early', [read('a', 0), answer('a', 1, 409, { problem: 'idempotency-key-in-use' })]],
  ])('%s does not count', (_title, events) => {
    expect(availabilityOf(events, 0)).toEqual({ requests: 0, succeeded: 0 });
  });

  it('a repetition of a request that overlapped a fault does not count', () => {
    const keyed = { operation: 'k-1', route: 'keyed' } as const;
    const fault: AnyEvent[] = [
      { at: 5, actor: 'nemesis', event: 'fault', what: 'engine', breaks: ['keyed'], spares: [] },
      { at: 6, actor: 'nemesis', event: 'repaired', what: 'engine' },
    ];
    const repeated = [invoke('a', 4, keyed), answer('a', 7, 503), invoke('b', 90, keyed), answer('b', 91, 504)];
    expect(availabilityOf([...fault, ...repeated], 0)).toEqual({ requests: 0, succeeded: 0 });
    expect(availabilityOf(repeated, 0)).toEqual({ requests: 2, succeeded: 0 });
  });
});

describe('repetition', () => {
  it('is the longest time from the first to the last request of one operation', () => {
    const keyed = (op: string, at: number, operation: string) => invoke(op, at, { operation, route: 'keyed' });
    const events = [keyed('a', 0, 'k-1'), keyed('b', 100, 'k-2'), keyed('c', 250, 'k-1'), keyed('d', 300, 'k-2')];
    expect(longestRepetition([...events, invoke('e', 9_000)])).toEqual({ ms: 250, undisturbedMs: 250 });
    expect(longestRepetition([])).toEqual({ ms: 0, undisturbedMs: 0 });
  });
});

describe('repetition during kills', () => {
  const keyed = (op: string, at: number) => invoke(op, at, { operation: 'k-1', route: 'keyed' });
  const kill = (kind: ComponentKind, from: number, to: number): AnyEvent[] => [
    { at: from, actor: 'nemesis', event: 'fault', what: `${kind} ${from}`, kind, breaks: ['keyed'], spares: [] },
    { at: to, actor: 'nemesis', event: 'repaired', what: `${kind} ${from}` },
  ];
  const events = [keyed('a', 100), keyed('b', 1_000)];

  it.each<[string, AnyEvent[], number]>([
    ['counts the time before a kill', kill('engine', 700, 800), 600],
    ['counts the time after a kill', kill('engine', 300, 350), 650],
    ['counts the time between two kills', [...kill('engine', 200, 250), ...kill("engine's Redis", 900, 950)], 650],
    ['does not count the time during a kill', kill('engine', 50, 980), 20],
    ['ignores kills of other components', kill('router', 300, 350), 900],
    ['ignores kills before and after the repetition', [...kill('engine', 0, 50), ...kill('engine', 2_000, 2_100)], 900],
  ])('%s', (_title, kills, undisturbedMs) => {
    expect(longestRepetition([...events, ...kills])).toEqual({ ms: 900, undisturbedMs });
  });
});

describe('writes', () => {
  const good = [invoke('a', 0), applied('a'), answer('a', 20), notified('a')];

  it('without an acknowledgement are counted, and so are those among them of which MDM was not notified', () => {
    expect(countUnacknowledged([invoke('a', 0), applied('a'), answer('a', 20, 504)])).toEqual({
      applied: 1,
      withoutMdm: 1,
    });
    expect(countUnacknowledged([invoke('a', 0), applied('a'), notified('a')])).toEqual({ applied: 1, withoutMdm: 0 });
    expect(countUnacknowledged(good)).toEqual({ applied: 0, withoutMdm: 0 });
  });

  it('of one operation are acknowledged by any of its requests, and counted once', () => {
    const lost = [
      invoke('a', 0, { operation: 'k' }),
      applied('a'),
      answer('a', 20, 504),
      invoke('b', 25, { operation: 'k' }),
    ];
    expect(countUnacknowledged(lost)).toEqual({ applied: 1, withoutMdm: 1 });
    expect(countUnacknowledged([...lost, answer('b', 30)])).toEqual({ applied: 0, withoutMdm: 0 });
  });

  it('that a back end replayed are counted separately from applied ones', () => {
    expect(countReplays([...good, { ...applied('a'), event: 'replayed' } as AnyEvent])).toBe(1);
    expect(countReplays(good)).toBe(0);
  });

  it('are late when too much time has passed since the request that led to the write', () => {
    const repeated = [invoke('a', 0, { operation: 'k' }), invoke('b', 90, { operation: 'k' }), applied('b', 100)];
    expect([countLateWrites(repeated, 9), countLateWrites(repeated, 10)]).toEqual([1, 0]);
  });

  it('count as lost or doubled according to the violations of I1 and I2', () => {
    const violations = [
      { invariant: 'I1', subject: 'a', what: 'one key was applied 2 times' },
      { invariant: 'I2', subject: 'a', what: 'MDM was not notified of a PATCH that got a 2xx' },
      { invariant: 'I2', subject: 'a', what: 'MDM counted 2 notifications of one request' },
      { invariant: 'I5', subject: 'a', what: 'ended 2 times' },
    ] as const;
    expect(countPatches(good, violations)).toEqual({ acknowledged: 1, lost: 1, doubled: 2 });
  });
});

it('requests are counted by status and problem', () => {
  const events = [answer('a', 1), answer('b', 1), answer('c', 1, 504, { problem: 'wait-budget-spent' })];
  expect(countEnds(events)).toEqual({ 200: 2, '504 wait-budget-spent': 1 });
});

it('quantiles are measured values (nearest rank)', () => {
  const values = Array.from({ length: 200 }, (_, index) => index + 1);
  expect(quantilesOf(values)).toEqual({ median: 100, p99: 198, worst: 200 });
  expect(quantilesOf([7])).toEqual({ median: 7, p99: 7, worst: 7 });
  expect(quantilesOf([])).toBeUndefined();
});
