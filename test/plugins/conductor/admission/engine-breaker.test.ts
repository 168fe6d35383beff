// Tests of the engine's circuit breaker: when it checks the engine's health, and how soon it detects that the engine is
// back.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { EngineBreaker } from '../../../../plugins/conductor/admission/engine-breaker.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const openMs = 2_000;

function openBreaker({ healthy }: { healthy: boolean }) {
  const health = { healthy, asked: 0 };
  const breaker = new EngineBreaker({
    thresholds: () => ({ windowMs: 10_000, minCalls: 2, failurePercent: 50, openMs }),
    isHealthy: async () => {
      health.asked += 1;
      return health.healthy;
    },
  });
  const fail = () => breaker.record('failure', performance.now());
  fail();
  fail();
  return { breaker, health, fail };
}

it('an engine whose health check succeeds: half-open after the full time, not sooner', async () => {
  const { breaker, health } = openBreaker({ healthy: true });
  await vi.advanceTimersByTimeAsync(openMs - 1);
  expect([breaker.state, health.asked]).toEqual(['open', 0]);
  await vi.advanceTimersByTimeAsync(1);
  expect([breaker.state, health.asked]).toEqual(['half-open', 1]);
});

it('an engine that comes back after a long time: detected within half a second', async () => {
  const { breaker, health } = openBreaker({ healthy: false });
  await vi.advanceTimersByTimeAsync(60_100);
  expect(breaker.state).toBe('open');
  health.healthy = true;
  await vi.advanceTimersByTimeAsync(500);
  expect(breaker.state).toBe('half-open');
});

it('a probe that fails although the health check succeeds: half-open after the full time again', async () => {
  const { breaker, fail } = openBreaker({ healthy: true });
  await vi.advanceTimersByTimeAsync(openMs);
  fail();
  await vi.advanceTimersByTimeAsync(openMs - 1);
  expect(breaker.state).toBe('open');
  await vi.advanceTimersByTimeAsync(1);
  expect(breaker.state).toBe('half-open');
});

it('makes no further health checks after a stop', async () => {
  const { breaker, health } = openBreaker({ healthy: false });
  breaker.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(health.asked).toBe(0);
});
