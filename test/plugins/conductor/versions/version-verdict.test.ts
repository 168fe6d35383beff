// Tests of what counts against a version: its own failures, but not those of the client, the router or the engine.

import { describe, expect, it } from 'vitest';
import { EngineFailures } from '../../../../plugins/conductor/versions/engine-failures.ts';
import { verdictOf } from '../../../../plugins/conductor/versions/version-verdict.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import type { EngineCall } from '#lib/conductor/engine.ts';

const answered = (status: number) => ({ problem: undefined, status, clientGone: false });
const problem = (code: ProblemCode) => ({ problem: code, clientGone: false });

describe('verdictOf', () => {
  it.each([
    [200, 'ok'],
    [304, 'ok'],
    [404, 'ok'],
    [429, 'ok'],
    [499, 'ok'],
    [500, 'failed'],
    [503, 'failed'],
  ])('the back end responded with %i: %s', (status, verdict) => {
    expect(verdictOf(answered(status), false)).toBe(verdict);
  });

  it.each<[ProblemCode, string]>([
    ['execution-failed', 'failed'],
    ['execution-timed-out', 'failed'],
    ['wait-budget-spent', 'failed'],
    ['back-end-unreachable', 'failed'],
    ['back-end-bad-answer', 'failed'],
    ['back-end-timeout', 'failed'],
    ['definition-missing', 'failed'],
    ['engine-unavailable', 'not-counted'],
    ['outcome-unknown', 'not-counted'],
    ['idempotency-key-in-use', 'not-counted'],
    ['body-too-large', 'not-counted'],
    ['execution-cancelled', 'not-counted'],
    ['internal-error', 'not-counted'],
  ])('%s: %s', (code, verdict) => {
    expect(verdictOf(problem(code), false)).toBe(verdict);
  });

  it('the client has disconnected: not counted', () => {
    expect(verdictOf({ problem: undefined, clientGone: true }, false)).toBe('not-counted');
  });

  it('the engine failed during the request: failures are not counted, successes are', () => {
    expect(verdictOf(problem('wait-budget-spent'), true)).toBe('not-counted');
    expect(verdictOf(answered(502), true)).toBe('not-counted');
    expect(verdictOf(answered(200), true)).toBe('ok');
  });
});

describe('EngineFailures', () => {
  const call = (outcome: EngineCall['outcome'], method = 'GET', path = '/api/tasks/poll/x') =>
    ({ request: { method, path }, startedAt: 0, ms: 1, outcome }) as EngineCall;

  it.each<[EngineCall, boolean]>([
    [call(200), false],
    [call(404), false],
    [call('unreachable'), true],
    [call('interrupted'), true],
    [call(500), false],
    [call(500, 'POST', '/api/workflow'), true],
    [call(404, 'POST', '/api/workflow'), false],
    [call('interrupted', 'POST', '/api/workflow'), true],
    [{ ...call('interrupted', 'POST', '/api/workflow'), endedEarly: true }, false],
    [{ ...call('interrupted'), endedEarly: true }, true],
  ])('%j: %s', (seen, failed) => {
    const failures = new EngineFailures();
    const before = performance.now();
    failures.observe(seen);
    expect(failures.since(before)).toBe(failed);
    expect(failures.since(performance.now() + 1)).toBe(false);
  });
});
