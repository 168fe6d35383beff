// Tests of admission: how outcomes of requests affect the breakers, and that a client gains nothing by disconnecting.

import { randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AdaptiveLimit } from '../../../../plugins/conductor/admission/adaptive-limit.ts';
import { Admission, type Admitted } from '../../../../plugins/conductor/admission/admission.ts';
import { createAdmissionMetrics } from '../../../../plugins/conductor/admission/admission-metrics.ts';
import { BackEnds } from '../../../../plugins/conductor/admission/back-ends.ts';
import type { RequestClass } from '../../../../plugins/conductor/admission/bulkhead.ts';
import { EngineBreaker } from '../../../../plugins/conductor/admission/engine-breaker.ts';
import { ConcurrencyLimiter } from '../../../../plugins/conductor/admission/concurrency-limiter.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function createAdmission({ queueLength = 0, maxLimit = 4 } = {}) {
  const thresholds = () => ({ windowMs: 10_000, minCalls: 2, failurePercent: 50, openMs: 1_000 });
  const health = { healthy: false, asked: 0 };
  const limit = new AdaptiveLimit({ min: 1, initial: maxLimit, max: maxLimit });
  const limiter = new ConcurrencyLimiter({
    limits: { waiting: () => 2, inFlight: () => 4 },
    queueLength,
    queueMs: 1_000,
    bulkheadSharePercent: 100,
  });
  const backEnds = new BackEnds(thresholds, () => undefined);
  const engine = new EngineBreaker({
    thresholds,
    isHealthy: async () => {
      health.asked += 1;
      return health.healthy;
    },
  });
  const metrics = createAdmissionMetrics(new Registry(), () => ({
    limiter: limiter,
    limit: () => 2,
    backEnds,
    engine,
  }));
  const admission = new Admission({ limit, limiter: limiter, engine, metrics });
  const gone = new AbortController().signal;
  const admit = async (name = 'movies', withinMs = 60_000, requestClass: RequestClass = 'read') => {
    const subject = { backEnd: backEnds.get(name), requestClass, client: 'one' };
    return (await admission.admit({ ...subject, gone, startBefore: performance.now() + withinMs })) as Admitted;
  };
  const finish = async (problem: ProblemCode | undefined, { name = 'movies', clientGone = false } = {}) => {
    const admitted = await admit(name);
    admitted.started(`execution-${randomUUID()}`);
    admitted.end({ problem, clientGone });
  };
  const start = (outcome: number | 'unreachable' | 'interrupted', { endedEarly = false, ms = 1 } = {}) =>
    admission.observe({
      request: { method: 'POST', path: '/api/workflow' },
      startedAt: performance.now(),
      ms,
      outcome,
      endedEarly,
    });
  return { admission, limiter, limit, backEnds, engine, health, admit, finish, start };
}

describe('the breaker of a back end', () => {
  it.each(['back-end-timeout', 'back-end-unreachable', 'wait-budget-spent', 'execution-timed-out'] as const)(
    '%s: opens this breaker and no other',
    async (problem) => {
      const { finish, admit } = createAdmission();
      await finish(problem);
      await finish(problem);
      await expect(admit()).rejects.toMatchObject({ code: 'back-end-unavailable', headers: { 'retry-after': '1' } });
      await expect(admit('adaptor 001')).resolves.toBeDefined();
    },
  );

  it('counts the outcome of a request that was queued before the breaker became half-open', async () => {
    const { admit, backEnds } = createAdmission({ queueLength: 4 });
    const [first, second] = [await admit(), await admit()];
    const queued = admit();
    const failure = { problem: 'back-end-timeout', clientGone: false } as const;
    first.end(failure); // Grants the permit to the queued request.
    second.end(failure); // Opens the breaker.
    vi.advanceTimersByTime(1_000);
    (await queued).end({ problem: undefined, clientGone: false });
    expect(backEnds.get('movies').breaker.state).toBe('closed');
  });

  it('rejects a queued request that has less time left than executions take', async () => {
    const { admit } = createAdmission({ queueLength: 4 });
    const end = { problem: undefined, clientGone: false };
    const [first, second] = [await admit(), await admit()];
    for (const admitted of [first, second]) admitted.started(`execution-${randomUUID()}`);
    vi.advanceTimersByTime(200);
    first.end(end);
    await admit();
    const queued = admit('movies', 500);
    vi.advanceTimersByTime(350);
    second.end(end);
    await expect(queued).rejects.toMatchObject({ code: 'overloaded' });
  });

  it.each([
    'back-end-bad-answer',
    'unknown-college',
    'body-too-large',
    'engine-unavailable',
    'execution-failed',
  ] as const)('%s: does not count', async (problem) => {
    const { finish, backEnds } = createAdmission();
    for (let index = 0; index < 5; index++) await finish(problem);
    expect(backEnds.get('movies').breaker.isPristine).toBe(true);
  });

  it('does not count clients that disconnect', async () => {
    const { finish, backEnds } = createAdmission();
    await finish(undefined, { clientGone: true });
    expect(backEnds.get('movies').breaker.isPristine).toBe(true);
  });

  it('does not count waits that end at their deadline while the engine fails', async () => {
    const { admit, start, backEnds } = createAdmission();
    const [first, second] = [await admit(), await admit()];
    start('interrupted');
    start('interrupted');
    for (const admitted of [first, second]) admitted.end({ problem: 'wait-budget-spent', clientGone: false });
    expect(backEnds.get('movies').breaker.isPristine).toBe(true);
  });
});

describe('the breaker of the engine', () => {
  it('opens after failed starts, and becomes half-open without a request once the health check succeeds', async () => {
    const { admit, start, engine, health } = createAdmission();
    start(500);
    start('unreachable');
    await expect(admit()).rejects.toMatchObject({ code: 'engine-unavailable' });
    await vi.advanceTimersByTimeAsync(1_000);
    expect([health.asked, engine.state]).toEqual([1, 'open']);
    health.healthy = true;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(engine.state).toBe('half-open');
    await admit();
    await expect(admit()).rejects.toMatchObject({ code: 'engine-unavailable' });
    start(200);
    expect(engine.state).toBe('closed');
    engine.stop();
  });

  it('does not count responses below 500 as failures', () => {
    const { start, engine } = createAdmission();
    for (const status of [404, 400, 409, 200]) start(status);
    expect(engine.state).toBe('closed');
  });

  it.each(['unreachable', 'interrupted'] as const)(
    'does not count a start that ended at an early deadline of its request (%s)',
    (outcome) => {
      const { start, engine } = createAdmission();
      for (let index = 0; index < 5; index++) start(outcome, { endedEarly: true });
      expect([engine.state, engine.isPristine]).toEqual(['closed', true]);
    },
  );

  it.each([
    ['interrupted', 84],
    ['unreachable', 100],
  ] as const)('slow starts end at an early deadline, %s → a limit of 100 becomes %i', (outcome, expected) => {
    const { start, limit } = createAdmission({ maxLimit: 100 });
    const closeWindow = (ms: number, result: 200 | typeof outcome) => {
      for (let index = 0; index < 9; index++) start(result, { endedEarly: result !== 200, ms });
      vi.advanceTimersByTime(500);
      start(result, { endedEarly: result !== 200, ms });
    };
    closeWindow(10, 200);
    expect(limit.value).toBe(100);
    closeWindow(1_000, outcome);
    expect(limit.value).toBe(expected);
  });

  it('a start that times out lowers the limit; a start that was never sent does not', () => {
    const { start, limit } = createAdmission();
    start('unreachable');
    expect(limit.value).toBe(4);
    for (let index = 0; index < 3; index++) start('interrupted');
    expect(limit.value).toBe(3);
  });
});

describe('permits', () => {
  it('rejects a request in the queue at its response deadline', async () => {
    const { admit, limiter } = createAdmission({ queueLength: 4 });
    await admit();
    await admit();
    const queued = expect(admit('movies', 200)).rejects.toMatchObject({ code: 'overloaded' });
    await vi.advanceTimersByTimeAsync(200);
    expect(limiter.queued).toBe(0);
    await queued;
  });

  it('a task that is handed out frees its waiting permit, even before its start is reported', async () => {
    const { admission, admit, limiter } = createAdmission();
    const [first, second] = [await admit(), await admit()];
    await expect(admit()).rejects.toMatchObject({ code: 'overloaded' });
    first.started('one');
    admission.handedOut('one');
    expect(limiter.inUse('waiting')).toBe(1);
    admission.handedOut('two');
    second.started('two');
    expect([limiter.inUse('waiting'), limiter.inUse('inFlight')]).toEqual([0, 2]);
  });

  it('a client disconnects after the start: its permit is held for the average duration of an execution', async () => {
    const { admit, limiter } = createAdmission();
    const usual = await admit();
    usual.started('usual');
    vi.advanceTimersByTime(400);
    usual.end({ problem: undefined, clientGone: false });
    const leaving = await admit();
    leaving.started('leaving');
    vi.advanceTimersByTime(100);
    leaving.end({ problem: undefined, clientGone: true });
    vi.advanceTimersByTime(299);
    expect(limiter.inUse('inFlight')).toBe(1);
    vi.advanceTimersByTime(2);
    expect(limiter.inUse('inFlight')).toBe(0);
  });

  it('a client disconnects before a worker has the task: writes keep their waiting permit, reads do not', async () => {
    const { admission, admit, limiter } = createAdmission();
    const usual = await admit();
    usual.started('usual');
    vi.advanceTimersByTime(400);
    usual.end({ problem: undefined, clientGone: false });
    for (const [requestClass, id] of [['read', 'r'] as const, ['write', 'w'] as const]) {
      const leaving = await admit('movies', 60_000, requestClass);
      leaving.started(id);
      leaving.end({ problem: undefined, clientGone: true });
    }
    expect(limiter.inUse('waiting')).toBe(1);
    admission.handedOut('w');
    expect([limiter.inUse('waiting'), limiter.inUse('inFlight')]).toEqual([0, 2]);
  });

  it('a client disconnects before the start: its permit is released at once', async () => {
    const { admit, limiter } = createAdmission();
    (await admit()).end({ problem: undefined, clientGone: true });
    expect(limiter.inUse('inFlight')).toBe(0);
  });

  it('a start that is reported after the request has ended has no effect, whatever happens to its task', async () => {
    const { admission, admit, limiter } = createAdmission();
    const late = await admit();
    const early = await admit();
    for (const [admitted, id] of [[late, 'late'] as const, [early, 'early'] as const]) {
      if (id === 'early') admission.handedOut(id);
      admitted.end({ problem: undefined, clientGone: true });
      admitted.started(id);
      admission.handedOut(id);
      admission.handedOut(id);
    }
    expect([limiter.inUse('waiting'), limiter.inUse('inFlight')]).toEqual([0, 0]);
  });

  it('a client disconnects before any execution of its back end has ended: the average over all back ends applies', async () => {
    const { admit, limiter } = createAdmission();
    const other = await admit('adaptor 001');
    other.started('other');
    vi.advanceTimersByTime(500);
    other.end({ problem: undefined, clientGone: false });
    const leaving = await admit('adaptor xyz');
    leaving.started('leaving');
    leaving.end({ problem: undefined, clientGone: true });
    expect(limiter.inUse('inFlight')).toBe(1);
    vi.advanceTimersByTime(501);
    expect(limiter.inUse('inFlight')).toBe(0);
  });
});

describe('load shedding', () => {
  const claimOf = (backEnds: BackEnds, name = 'movies') =>
    ({ backEnd: backEnds.get(name), requestClass: 'read', client: 'one' }) as const;

  it('with a full queue: rejects as the pipeline would, until a second has passed without a rejection', async () => {
    const { admission, backEnds, admit } = createAdmission();
    const refuse = () => admission.shed(claimOf(backEnds));
    expect(refuse).not.toThrow();
    await admit();
    await admit();
    expect(admission.isShedding).toBe(false);
    await expect(admit()).rejects.toMatchObject({ code: 'overloaded' });
    expect(admission.isShedding).toBe(true);
    vi.advanceTimersByTime(900);
    expect(refuse).toThrow(expect.objectContaining({ code: 'overloaded', headers: { 'retry-after': '1' } }));
    vi.advanceTimersByTime(900);
    expect(admission.isShedding).toBe(true);
    vi.advanceTimersByTime(200);
    expect(admission.isShedding).toBe(false);
  });

  it('with an open breaker: rejects only the requests of its back end', async () => {
    const { admission, backEnds, finish } = createAdmission();
    await finish('back-end-timeout');
    await finish('back-end-timeout');
    expect(() => admission.shed(claimOf(backEnds))).toThrow(expect.objectContaining({ code: 'back-end-unavailable' }));
    expect(() => admission.shed(claimOf(backEnds, 'adaptor 001'))).not.toThrow();
  });
});
