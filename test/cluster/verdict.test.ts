// The verdict of a run finds what must not be, and its table says what a kill cost.

import { describe, expect, it } from 'vitest';
import type { Outcome } from '../faults/operations.ts';
import type { Sent } from './load.ts';
import type { Kill } from './nemesis.ts';
import { tableOf } from './table.ts';
import { type VerdictInput, violationsOf } from './verdict.ts';

const outcome = (status: number | undefined, problem?: string): Outcome => ({
  ...{ op: 'a', status, problem, executionId: undefined, isReplay: false, ms: 5 },
});
const sent = (status: number | undefined, more: Partial<Sent> & { problem?: string } = {}): Sent => ({
  ...{ kind: 'GET', sentAt: 1_000, endedAt: 1_005, outcome: outcome(status, more.problem) },
  ...more,
});
const kill = (more: Partial<Kill> = {}): Kill => ({
  ...{ name: 'router 1', killedAt: 1_000, backAt: 3_000, sent: [], recovered: true },
  ...more,
});
const at = (ms: number) => performance.timeOrigin + ms;

const found = (entries: Sent[], more: Partial<VerdictInput> = {}) =>
  violationsOf({ events: [], texts: [], secrets: [], kills: [kill()], sent: entries, broken: [], slack: 1, ...more });

describe('the verdict', () => {
  it.each<[string, Sent]>([
    ['a success', sent(200)],
    ['a problem with 503', sent(503, { problem: 'engine-unavailable' })],
    ['a problem with 504', sent(504, { problem: 'wait-budget-spent' })],
    ['a refusal of a bad token', sent(401, { kind: 'without a good token' })],
    ['no token while the provider is away', sent(503, { kind: 'token' })],
  ])('%s: nothing to say', (_title, entry) => {
    expect(found([entry])).toEqual([]);
  });

  it.each<[string, Sent, string]>([
    ['never ended', sent(200, { outcome: undefined as never }), 'a request has not ended'],
    ['5xx without a problem', sent(502), 'a: answered 502 without a problem'],
    ['a good token refused', sent(401, { problem: 'unauthorized' }), 'a: answered 401 unauthorized'],
    ['a bad token let in', sent(200, { kind: 'without a good token' }), 'a: answered 200'],
    ['the token path answers 500', sent(500, { kind: 'token' }), 'a: the token path answered 500'],
    ['closed for no reason', sent(undefined), 'a: closed without a reason'],
  ])('%s: found', (_title, entry, line) => {
    expect(found([entry])).toEqual([line]);
  });

  it('closed while its own router was killed: nothing to say; another router, or another time: found', () => {
    const broken = (target: string, ms: number) => ({ broken: [{ at: at(ms), target, requestId: 'a' }] });
    expect(found([sent(undefined)], broken('router 1', 1_100))).toEqual([]);
    expect(found([sent(undefined)], broken('router 2', 1_100))).toHaveLength(1);
    expect(found([sent(undefined)], broken('router 1', 9_000))).toHaveLength(1);
  });

  it('a part after which requests went on failing: found', () => {
    expect(found([], { kills: [kill({ recovered: false })] })).toEqual(['router 1: clients still noticed 90 s later']);
  });
});

it('the table: times from the kill on, and what failed', () => {
  const entries = [
    sent(200, { sentAt: 1_500, endedAt: 1_900 }),
    sent(503, { sentAt: 1_200, problem: 'x' }),
    sent(503, { sentAt: 2_600, problem: 'x' }),
    sent(undefined, { sentAt: 900 }),
  ];
  const rows = tableOf([kill({ sent: entries }), kill({ name: 'Redis', sent: [sent(200)] })]).split('\n');
  expect(rows[2]).toBe('| router 1 | 2.0 s | 1.6 s | 4 | 503 × 2, closed × 1 | 0.4 s |');
  expect(rows[3]).toBe('| Redis | 2.0 s | none failed | 1 | 0 | 0.0 s |');
});
