// Tests of the registry of back ends: it forgets names that clients invent.

import { expect, it } from 'vitest';
import { BackEnds } from '../../../../plugins/conductor/admission/back-ends.ts';
import type { BreakerState } from '../../../../plugins/conductor/admission/circuit-breaker.ts';

const thresholds = { failurePercent: 50, minCalls: 1, windowMs: 60_000, openMs: 60_000 };
const changes: [string, BreakerState][] = [];
const registry = () =>
  new BackEnds(
    () => thresholds,
    (name, state) => void changes.push([name, state]),
  );

it('one name stands for one back end; back ends without an outcome are not observed', () => {
  const backEnds = registry();
  const movies = backEnds.get('movies');
  expect(backEnds.get('movies')).toBe(movies);
  backEnds.get('adaptor 001');
  expect(backEnds.observed).toEqual([]);
  movies.breaker.record('failure', performance.now());
  expect(backEnds.observed).toEqual([movies]);
  expect(changes).toEqual([['movies', 'open']]);
});

it('above 1,000 names, unused ones are forgotten; those in use and failing ones stay', () => {
  const backEnds = registry();
  const [used, failing, idle] = ['used', 'failing', 'idle'].map((name) => backEnds.get(name));
  used!.inFlight.count = 1;
  failing!.breaker.record('failure', performance.now());
  for (let n = 3; n <= 1_000; n++) backEnds.get(`adaptor ${n}`);
  expect([backEnds.get('used'), backEnds.get('failing')]).toEqual([used, failing]);
  expect(backEnds.get('idle')).not.toBe(idle);
});
