// Tests of the circuit breaker: when it opens, which request it lets through as a probe, and that late outcomes have no
// effect.

import { describe, expect, it } from 'vitest';
import { type BreakerState, CircuitBreaker } from '../../../../plugins/conductor/admission/circuit-breaker.ts';

function createBreaker(options = {}) {
  let now = 1_000;
  const changes: BreakerState[] = [];
  const breaker = new CircuitBreaker({
    thresholds: () => ({ windowMs: 10_000, minCalls: 4, failurePercent: 50, openMs: 2_000 }),
    now: () => now,
    onChange: (state) => changes.push(state),
    ...options,
  });
  const record = (outcome: 'success' | 'failure', times = 1) => {
    for (let index = 0; index < times; index++) breaker.record(outcome, now);
  };
  return { breaker, changes, record, now: () => now, pass: (ms: number) => (now += ms) };
}

describe('closed', () => {
  it('fewer calls than the minimum: stays closed, whatever their outcome', () => {
    const { breaker, record } = createBreaker();
    record('failure', 3);
    expect(breaker.state).toBe('closed');
    expect(breaker.rejectsForMs).toBeUndefined();
  });

  it('the failure rate reaches the threshold: opens', () => {
    const { breaker, record, changes } = createBreaker();
    record('success', 2);
    record('failure', 1);
    expect(breaker.state).toBe('closed');
    record('failure', 1);
    expect(breaker.state).toBe('open');
    expect(changes).toEqual(['open']);
  });

  it('the failure rate is below the threshold: stays closed', () => {
    const { breaker, record } = createBreaker();
    record('success', 60);
    record('failure', 40);
    expect(breaker.state).toBe('closed');
  });

  it('failures that are older than the window: do not count', () => {
    const { breaker, record, pass } = createBreaker();
    record('failure', 3);
    pass(10_001);
    record('failure', 3);
    expect(breaker.state).toBe('closed');
    record('failure', 1);
    expect(breaker.state).toBe('open');
  });

  it('a success after a short outage: does not open the breaker, although earlier successes leave the window', () => {
    const { breaker, record, pass } = createBreaker();
    record('success', 100);
    pass(5_000);
    record('failure', 60);
    pass(5_500);
    record('success', 10);
    expect(breaker.state).toBe('closed');
    record('failure');
    expect(breaker.state).toBe('open');
  });

  it('is pristine again when the window has passed', () => {
    const { breaker, record, pass } = createBreaker();
    expect(breaker.isPristine).toBe(true);
    record('success');
    expect(breaker.isPristine).toBe(false);
    pass(10_001);
    expect(breaker.isPristine).toBe(true);
  });
});

describe('open', () => {
  it('rejects requests until its open period ends, then lets through one probe and no other request', () => {
    const { breaker, record, pass } = createBreaker();
    record('failure', 4);
    expect(breaker.rejectsForMs).toBe(2_000);
    pass(1_500);
    expect(breaker.rejectsForMs).toBe(500);
    pass(500);
    expect(breaker.state).toBe('half-open');
    expect(breaker.rejectsForMs).toBeUndefined();
    breaker.enter();
    expect(breaker.rejectsForMs).toBeGreaterThan(0);
  });

  it('configured not to half-open automatically: stays open until halfOpen is called', () => {
    const { breaker, record, pass } = createBreaker({ halfOpensAutomatically: false });
    record('failure', 4);
    pass(60_000);
    expect(breaker.state).toBe('open');
    breaker.stayOpen();
    expect(breaker.rejectsForMs).toBe(2_000);
    breaker.halfOpen();
    expect(breaker.state).toBe('half-open');
  });
});

describe('half-open', () => {
  function halfOpen() {
    const given = createBreaker();
    given.record('failure', 4);
    given.pass(2_000);
    return given;
  }

  it('the probe succeeds: closes, and earlier failures are forgotten', () => {
    const { breaker, record, changes } = halfOpen();
    breaker.enter();
    record('success');
    expect(changes).toEqual(['open', 'half-open', 'closed']);
    record('failure', 3);
    expect(breaker.state).toBe('closed');
  });

  it('the probe fails: opens again for the full time', () => {
    const { breaker, record } = halfOpen();
    breaker.enter();
    record('failure');
    expect(breaker.state).toBe('open');
    expect(breaker.rejectsForMs).toBe(2_000);
  });

  it('the probe ends without an outcome: the next request becomes the probe', () => {
    const { breaker } = halfOpen();
    const leave = breaker.enter();
    leave();
    expect(breaker.state).toBe('half-open');
    expect(breaker.rejectsForMs).toBeUndefined();
  });

  it('ignores outcomes of calls that began before the breaker opened', () => {
    const { breaker, now, pass, record } = createBreaker();
    const begunAt = now();
    pass(1);
    record('failure', 4);
    breaker.record('success', begunAt);
    pass(2_000);
    expect(breaker.state).toBe('half-open');
    breaker.record('failure', begunAt);
    breaker.record('success', begunAt);
    expect(breaker.state).toBe('half-open');
  });

  it('a probe of an earlier half-open period ends late: the current probe stays the only one', () => {
    const { breaker, record, pass } = halfOpen();
    const leave = breaker.enter();
    record('failure');
    pass(2_000);
    expect(breaker.state).toBe('half-open');
    breaker.enter();
    leave();
    expect(breaker.rejectsForMs).toBeGreaterThan(0);
  });
});
