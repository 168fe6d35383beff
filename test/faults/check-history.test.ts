// Tests that the checker finds the violations of each invariant, and reports none where there are none.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkHistory, type Evidence } from './check-history.ts';
import { invariants } from './violation.ts';
import { type AnyEvent, type FaultDescription, History, type Route } from './history.ts';

const target = '/mock/colleges/001/persons/1';

interface Given {
  at?: number;
  op?: string;
  method?: string;
  route?: Route;
  auth?: 'good' | 'bad';
  operation?: string;
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
const faulty = (more: Partial<FaultDescription> = {}, at = 0): AnyEvent => ({
  ...{ at, actor: 'nemesis', event: 'fault', what: 'x', spares: [], breaks: [] },
  ...more,
});
const fault = (spares: Route[]) => faulty({ spares });
const stopped = (stops: string) => faulty({ stops }, 5);
const person = (more: object = {}): AnyEvent => ({
  ...{ at: 99, actor: 'observer', event: 'person', mis: '001', id: '1', cccid: 'A', mdm: 'A', others: { '002': 'A' } },
  ...more,
});
const repaired = (at: number): AnyEvent => ({ at, actor: 'nemesis', event: 'repaired', what: 'x' });
const get = { method: 'GET', route: 'movies' } as const;
const withoutRedis = faulty({ kind: 'Redis', spares: ['movies'] });
const twoRouters = ['r1', 'r2'].flatMap((router) => [
  invoke({ route: 'health', op: router, method: 'GET', router }),
  answer(200, { op: router }),
]);

const good = [invoke(), received(), applied(), answer(200, { executionId: 'e1', right: true }), notified()];

/** A later, successful write to the same person. */
const next = (at: number, method = 'PATCH'): AnyEvent[] => [
  invoke({ at, op: 'b', method }),
  received({ at: at + 5, op: 'b', key: 'e2', method }),
  applied({ at: at + 10, op: 'b', key: 'e2' }),
  answered(at + 20),
  { ...notified(), op: 'b', executionId: 'e2' } as AnyEvent,
];
const answered = (at: number) => answer(200, { at, op: 'b', executionId: 'e2', right: true });
/** Two overlapping PATCHes of one person. */
const overlapping = [
  ...[invoke(), received(), applied(), answer(504), notified()],
  ...[invoke({ at: 5, op: 'c' }), answer(504, { op: 'c', at: 30 })],
];

const found = (events: AnyEvent[], more: Partial<Evidence> = {}) =>
  checkHistory({ events, ...more }).violations.map(({ invariant, what }) => `${invariant} ${what}`);

describe('a history in which nothing is wrong', () => {
  it.each<[string, AnyEvent[]]>([
    ['nothing happened', []],
    ['a PATCH was applied, its client got a response, and MDM was notified', good],
    ['MDM was notified twice and counted the change once', [...good, notified(false)]],
    [
      'the write that shares a change with another college has the request id of the PATCH',
      [...good, applied({ key: 'e2', target: '/adaptors/002/mock/colleges/002/persons/7' })],
    ],
    ['a write with an unknown outcome was applied', [invoke(), received(), applied(), answer(504)]],
    ['a write with an unknown outcome was not applied', [invoke(), answer(504)]],
    [
      'the reconciler probed a write with an unknown outcome',
      [invoke(), received(), applied(), answer(504), received({ method: 'GET', key: undefined })],
    ],
    [
      'a keyed write was rejected, then started with an unknown outcome, then replayed',
      [
        ...[invoke({ op: 'z', operation: 'k' }), answer(503, { op: 'z', problem: 'idempotency-unavailable' })],
        ...[invoke({ operation: 'k' }), received(), applied(), answer(504, { executionId: 'e1' }), notified()],
        ...[invoke({ op: 'b', operation: 'k' }), answer(200, { op: 'b', executionId: 'e1', right: true })],
      ],
    ],
    [
      'a stopped router held a request beyond its response deadline',
      [invoke({ router: 'one' }), stopped('one'), repaired(9_000), closed(9_500)],
    ],
    ['the connection broke when its router stopped', [invoke({ router: 'one' }), stopped('one'), closed()]],
    ['the client left', [invoke(), { ...closed(), reason: 'gone' } as AnyEvent]],
    [
      'a write was accepted, and its outcome was fetched',
      [
        ...[invoke(), answer(202, { executionId: 'e1' }), received(), applied(), notified()],
        ...[invoke({ op: 'b', operation: 'a' }), answer(200, { op: 'b', executionId: 'e1', right: true })],
      ],
    ],
    ['an accepted write was never applied', [invoke(), answer(202, { executionId: 'e1' })]],
    ['MDM and all colleges have the same cccid', [...good, person()]],
    ['MDM does not know the person', [...good, person({ mdm: undefined, others: {} })]],
    ['nobody changed the person', [person({ mdm: 'B' })]],
    [
      'a PUT, of which MDM is not notified, changed the person',
      [invoke({ method: 'PUT' }), applied(), answer(504), person({ mdm: 'B' })],
    ],
    [
      'a PATCH was applied late, during the next one, so that the last value is unknown',
      [
        ...[invoke(), { ...closed(), reason: 'gone' } as AnyEvent, ...next(40)],
        ...[received({ at: 45 }), applied({ at: 45 }), notified(), person({ mdm: 'B' })],
      ],
    ],
    [
      'the last change is a PUT, of which MDM is not notified',
      [...good, ...next(40, 'PUT').slice(0, -1), person({ mdm: 'B' })],
    ],
    [
      'two PATCHes of one person overlapped, so that the last value is unknown',
      [...good, invoke({ at: 5, op: 'b' }), answer(504, { op: 'b', at: 30 }), person({ mdm: 'B' })],
    ],
    ['a token was issued', [invoke({ method: 'POST', route: 'token' }), answer(200)]],
    ['a back end itself responded with 503', [invoke(), received(), answer(503)]],
    ['a request without a token was refused', [invoke({ auth: 'bad', route: 'refused' }), answer(401)]],
    [
      'a spared route failed outside the fault',
      [fault(['movies']), repaired(5), invoke({ ...get, at: 6 }), answer(503)],
    ],
    [
      'a client that asked for the outcome of an execution waited for it',
      [fault(['movies']), invoke(get), answer(404, { at: 2_500, problem: 'answer-pending' })],
    ],
    [
      'a client fetched the outcome of an execution that had timed out',
      [fault(['movies']), invoke({ ...get, operation: 'z' }), answer(504, { problem: 'execution-timed-out' })],
    ],
    [
      'the next fault, which affects the route, came before the response',
      [fault(['movies']), faulty({ what: 'y' }, 10), invoke({ ...get, at: 1 }), answer(503)],
    ],
    [
      'two routers without Redis got a result late, because they had no wake-ups',
      [
        ...[...twoRouters, withoutRedis, invoke({ ...get, router: 'r1' }), received({ method: 'GET' })],
        answer(200, { at: 2_500, right: true, executionId: 'e1' }),
      ],
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
      'I1: applied, but reported as not started',
      [invoke(), received(), applied(), answer(503, { problem: 'engine-unavailable' })],
      'I1 answered 503 (not started), but the back end got it',
    ],
    [
      'I1: two executions with the same client key applied a write',
      [
        ...[invoke({ operation: 'k' }), received(), applied(), answer(504)],
        ...[invoke({ op: 'b', operation: 'k' }), received({ op: 'b', key: 'e2' }), applied({ op: 'b', key: 'e2' })],
        answer(200, { op: 'b', executionId: 'e2', right: true }),
      ],
      'I1 one PATCH was applied 2 times',
    ],
    [
      'I1: the back end replayed its response to a write that was sent twice',
      [...good, received(), { ...applied(), event: 'replayed' } as AnyEvent],
      'I1 one PATCH was sent to the back end 2 times',
    ],
    [
      'I1: a keyed write was applied although its response said that nothing was started',
      [invoke({ operation: 'k' }), received(), applied(), answer(503, { problem: 'idempotency-unavailable' })],
      'I1 answered 503 (not started), but the back end got it',
    ],
    [
      'I3: a keyed write succeeded although no request with its key was applied',
      [invoke({ operation: 'k' }), answer(504), invoke({ op: 'b', operation: 'k' }), answer(200, { op: 'b' })],
      'I3 answered 200, but never applied',
    ],
    [
      'I3: the response names the execution of another request',
      [...good, invoke({ op: 'b' }), answer(504, { op: 'b', executionId: 'e1' })],
      'I3 was answered with the execution of another request',
    ],
    [
      'I5: a request ended late at a router that had not been stopped',
      [invoke({ router: 'two' }), stopped('one'), repaired(9_000), closed(9_500)],
      'I5 open for 9500 ms with a response deadline of 1000 ms',
    ],
    [
      'I5: a request ended late at a router that had been stopped and continued before the request',
      [invoke({ at: 9_001, router: 'one' }), stopped('one'), repaired(9_000), closed(19_000)],
      'I5 open for 9999 ms with a response deadline of 1000 ms',
    ],
    [
      'I2: MDM has another value at the end of the run',
      [...good, person({ mdm: 'B' })],
      "I2 the cccid differs from that at the person's own college: MDM has B, the college A",
    ],
    [
      'I2: another college has another value at the end of the run',
      [...good, person({ others: { '002': 'B' } })],
      "I2 the cccid differs from that at the person's own college: 002 has B, the college A",
    ],
    [
      'I2: MDM has another value after two consecutive PATCHes',
      [...good, invoke({ at: 25, op: 'b' }), answer(504, { op: 'b', at: 30 }), person({ mdm: 'B' })],
      "I2 the cccid differs from that at the person's own college: MDM has B, the college A",
    ],
    [
      'I2: MDM has another value, although changes overlapped only before the last one',
      [...overlapping, ...next(40), person({ mdm: 'B' })],
      "I2 the cccid differs from that at the person's own college: MDM has B, the college A",
    ],
    [
      'I2: MDM has another value after a PATCH that followed a PUT',
      [
        ...[invoke({ method: 'PUT' }), received({ method: 'PUT' }), applied(), answer(200, { right: true })],
        ...[...next(40), person({ mdm: 'B' })],
      ],
      "I2 the cccid differs from that at the person's own college: MDM has B, the college A",
    ],
    [
      'I3: an accepted write succeeded, but was never applied',
      [invoke(), answer(202), invoke({ op: 'b', operation: 'a' }), answer(200, { op: 'b' })],
      'I3 answered 200, but never applied',
    ],
    [
      'I3: an accepted write was forgotten',
      [
        invoke(),
        answer(202),
        invoke({ op: 'b', operation: 'a' }),
        answer(404, { op: 'b', problem: 'execution-unknown' }),
      ],
      'I3 an accepted execution is unknown',
    ],
    [
      'I5: the connection broke although its router was running',
      [invoke({ router: 'two' }), stopped('one'), closed()],
      'I5 closed without a response (ECONNRESET) although its router was running',
    ],
    ['I2: MDM was not notified', good.slice(0, -1), 'I2 MDM was not notified of a PATCH that got a 2xx'],
    ['I2: MDM counted a change twice', [...good, notified()], 'I2 MDM counted 2 notifications of one request'],
    [
      'I2: MDM was notified of a change that was not applied',
      [invoke(), answer(504), notified()],
      'I2 MDM was told of a change that nobody applied',
    ],
    [
      'I3: success without a change',
      [invoke(), received(), answer(200), notified()],
      'I3 answered 200, but never applied',
    ],
    ['I3: success without a back-end call', [invoke(get), answer(200)], 'I3 answered 200, but no back end was asked'],
    [
      "I3: a body that is not the back end's",
      [invoke(get), received({ method: 'GET' }), answer(200, { right: false })],
      "I3 answered 200 with a body other than the back end's",
    ],
    ['I5: no response', [invoke()], 'I5 neither answered nor closed'],
    [
      'I5: a late response',
      [invoke(), answer(504, { at: 3_001 })],
      'I5 open for 3001 ms with a response deadline of 1000 ms',
    ],
    ['I5: closed late', [invoke(), closed(3_500)], 'I5 open for 3500 ms with a response deadline of 1000 ms'],
    ['I5: two responses', [invoke(), answer(504), answer(504)], 'I5 ended 2 times'],
    ['I6: a spared route failed', [fault(['movies']), invoke(get), answer(503)], 'I6 movies answered 503 during x'],
    ['I6: a spared route hung', [fault(['movies']), invoke(get), closed()], 'I6 movies was not answered during x'],
    [
      'I6: a spared route was slow',
      [fault(['health']), invoke({ ...get, route: 'health' }), answer(200, { at: 2_500 })],
      'I6 health took 2500 ms during x',
    ],
    [
      'I6: a spared route failed with an execution that the request itself had started',
      [fault(['movies']), invoke(get), answer(504, { problem: 'execution-timed-out' })],
      'I6 movies answered 504 during x',
    ],
    [
      'I6: a spared route hung, and the next fault came much later',
      [fault(['movies']), faulty({ what: 'y' }, 5_000), invoke(get)],
      'I6 movies was not answered during x',
    ],
    [
      'I6: a spared route was slower than the lack of wake-ups explains',
      [...twoRouters, withoutRedis, invoke({ ...get, router: 'r1' }), answer(200, { at: 4_500 })],
      'I6 movies took 4500 ms during x',
    ],
    [
      'I6: a spared route was slow, although a single router needs no wake-ups',
      [withoutRedis, invoke({ ...get, router: 'r1' }), answer(200, { at: 2_500 })],
      'I6 movies took 2500 ms during x',
    ],
    ['I7: success with a bad token', [invoke({ auth: 'bad' }), answer(200)], 'I7 answered 200 without a good token'],
    [
      'I7: refused, but sent to the back end',
      [invoke({ auth: 'bad' }), received(), answer(401)],
      'I7 reached a back end without a good token',
    ],
    [
      'I7: an execution was started for a request without a good token',
      [invoke({ auth: 'bad' }), answer(504, { executionId: 'e1' })],
      'I7 answered 504 without a good token',
    ],
  ])('%s', (_title, events, expected) => {
    expect(found(events)).toContain(expected);
  });

  it('allows more time after the response deadline when there is slack', () => {
    const late = [invoke(), received(), answer(504, { at: 6_000 })];
    expect(found(late)).toEqual(['I5 open for 6000 ms with a response deadline of 1000 ms']);
    expect(found(late, { slack: 3 })).toEqual([]);
    expect(found([invoke(), answer(504, { at: 7_100 })], { slack: 3 })).toHaveLength(1);
  });

  it('I4: a text contains a secret', () => {
    const texts = [{ name: 'router.log', text: 'authorization: Bearer hush' }];
    expect(checkHistory({ events: good, texts, secrets: ['other', 'hush'] }).violations).toEqual([
      { invariant: 'I4', subject: 'router.log', what: 'contains secret number 2' },
    ]);
  });
});

describe('I4 with a pattern', () => {
  const violationsIn = (text: string) =>
    checkHistory({ events: good, texts: [{ name: 'log', text }], secrets: ['hush', /\bF[\dA-F]{12}\b/] }).violations;

  it('a text that contains a matching value: a violation', () => {
    const text = 'first\n{"cccid":"F0123456789AB"}\nlast';
    expect(violationsIn(text)).toEqual([{ invariant: 'I4', subject: 'log', what: 'contains secret number 2' }]);
  });

  it('a text that contains only similar values: no violation', () => {
    expect(violationsIn('op-f0123456789ab F0123456789ABC')).toEqual([]);
  });
});

describe('the number of checks', () => {
  const judged = (events: AnyEvent[], more: Partial<Evidence> = {}) => checkHistory({ events, ...more }).judged;

  it('nothing happened: 0 for every invariant', () => {
    expect(Object.values(judged([]))).toEqual(invariants.map(() => 0));
    expect(judged([], { texts: [{ name: 'log', text: 'quiet' }] }).I4).toBe(0);
  });

  it.each<[string, AnyEvent[], Partial<ReturnType<typeof judged>>]>([
    ['a PATCH that succeeded: I1 checks its write and its key', good, { I1: 2, I2: 1, I5: 1, I6: 0, I7: 0 }],
    ['a PATCH that succeeded: I3 checks its response and the execution that the response names', good, { I3: 2 }],
    [
      'a read: I3 checks its response; I1 and I2 check nothing',
      [invoke(get), received({ method: 'GET' }), answer(200)],
      { I1: 0, I2: 0, I3: 1 },
    ],
    ['the final values of a person: I2 checks MDM and each other college', [...good, person()], { I2: 3 }],
    [
      'a request on a spared route: I6 checks it during the fault, but not after the repair',
      [fault(['movies']), invoke(get), answer(200), repaired(50), invoke({ ...get, at: 60, op: 'b' })],
      { I6: 1 },
    ],
    ['a request without a good token: I7 checks it', [invoke({ auth: 'bad' }), answer(401)], { I7: 1, I1: 0 }],
    ['a violation: it counts as a check', [invoke({ auth: 'bad' }), answer(200)], { I7: 1 }],
  ])('%s', (_title, events, expected) => {
    expect(judged(events)).toMatchObject(expected);
  });

  it.each<[string, AnyEvent[], { observed: number; compared: number }]>([
    ['nobody was observed', good, { observed: 0, compared: 0 }],
    ['the value of a person is known', [...good, person()], { observed: 1, compared: 1 }],
    ['the last changes overlapped', [...overlapping, person()], { observed: 1, compared: 0 }],
    ['nobody changed the person', [person()], { observed: 1, compared: 0 }],
  ])('persons: %s', (_title, events, expected) => {
    expect(checkHistory({ events }).persons).toEqual(expected);
  });

  it('I4: each non-empty line of the texts counts as one check', () => {
    expect(judged([], { texts: [{ name: 'log', text: 'one\n\ntwo\n' }], secrets: ['hush'] }).I4).toBe(2);
  });
});

it('a history file returns the appended events', () => {
  const dir = mkdtempSync(join(tmpdir(), 'history-'));
  try {
    const history = new History(join(dir, 'history.jsonl'));
    history.append({ actor: 'nemesis', event: 'fault', what: 'x', spares: ['token'], breaks: [] });
    history.append({ actor: 'nemesis', event: 'repaired', what: 'x' });
    expect(history.read()).toMatchObject([{ event: 'fault', spares: ['token'] }, { event: 'repaired' }]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
