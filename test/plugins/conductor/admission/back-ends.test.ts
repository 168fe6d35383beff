// Tests of the registry of back ends: it forgets names that clients invent.

import { afterEach, expect, it, vi } from 'vitest';
import { BackEnds } from '../../../../plugins/conductor/admission/back-ends.ts';
import type { BreakerState } from '../../../../plugins/conductor/admission/circuit-breaker.ts';

const thresholds = { failurePercent: 50, minCalls: 1, windowMs: 60_000, openMs: 60_000 };
const changes: [string, BreakerState][] = [];
const registry = () =>
  new BackEnds(
    () => thresholds,
    (name, state) => void changes.push([name, state]),
  );

afterEach(() => void vi.useRealTimers());

it('returns one back end per name, and lists only back ends with an outcome as observed', () => {
  const backEnds = registry();
  const movies = backEnds.get('movies');
  expect(backEnds.get('movies')).toBe(movies);
  backEnds.get('adaptor 001');
  expect(backEnds.observed).toEqual([]);
  movies.breaker.record('failure', performance.now());
  expect(backEnds.observed).toEqual([movies]);
  expect(changes).toEqual([['movies', 'open']]);
});

it('above 1,000 names, forgets idle back ends, and keeps those that are in use or failing', () => {
  const backEnds = registry();
  const [used, failing, idle] = ['used', 'failing', 'idle'].map((name) => backEnds.get(name));
  used!.inFlight.count = 1;
  failing!.breaker.record('failure', performance.now());
  for (let n = 3; n <= 1_000; n++) backEnds.get(`adaptor ${n}`);
  expect([backEnds.get('used'), backEnds.get('failing')]).toEqual([used, failing]);
  expect(backEnds.get('idle')).not.toBe(idle);
});

it('after an hour without an outcome, a half-open breaker is not observed, and is forgotten above 1,000 names', () => {
  vi.useFakeTimers();
  const backEnds = registry();
  const [removed, probed] = ['removed', 'probed'].map((name) => backEnds.get(name));
  for (const { breaker } of [removed!, probed!]) breaker.record('failure', performance.now());
  vi.advanceTimersByTime(60_000);
  expect(backEnds.observed.map(({ breaker }) => breaker.state)).toEqual(['half-open', 'half-open']);
  vi.advanceTimersByTime(3_000_000);
  probed!.breaker.record('failure', performance.now());
  vi.advanceTimersByTime(600_000);
  expect(backEnds.observed).toEqual([probed]);
  for (let n = 2; n <= 1_000; n++) backEnds.get(`adaptor ${n}`);
  expect(backEnds.get('probed')).toBe(probed);
  expect(backEnds.get('removed')).not.toBe(removed);
});
