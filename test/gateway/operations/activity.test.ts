// Tests of the statistics of routes and failures: percentiles, the ten-minute window, grouping and expiry.

import { describe, expect, it } from 'vitest';
import { Activity, stepMs } from '../../../gateway/operations/status/activity.ts';
import type { EndedRequest } from '../../../gateway/server/access-log.ts';

const request = (fields: Partial<EndedRequest> = {}): EndedRequest => ({
  route: 'movies',
  method: 'GET',
  status: 200,
  durationMs: 10,
  executionId: undefined,
  problem: undefined,
  ...fields,
});
const ofMovies = (route: string) => route === 'movies';

describe('the activity of a route', () => {
  it('has percentiles that are accurate to 10 %', () => {
    const activity = new Activity();
    for (let ms = 1; ms <= 1_000; ms++) activity.record(request({ durationMs: ms }), 0);
    const [movies] = activity.routes(0);
    expect(movies).toMatchObject({ route: 'movies', requests: 1_000, failures: 0 });
    expect(Math.abs(movies!.p50! / 500 - 1)).toBeLessThan(0.1);
    expect(Math.abs(movies!.p99! / 990 - 1)).toBeLessThan(0.1);
  });

  it('computes percentiles over the requests of all steps', () => {
    const activity = new Activity();
    for (let count = 0; count < 99; count++) activity.record(request({ durationMs: 10 }), (count % 3) * stepMs);
    activity.record(request({ durationMs: 1_000 }), stepMs);
    const [movies] = activity.routes(2 * stepMs);
    expect(movies!.requests).toBe(100);
    expect(movies!.p50).toBeCloseTo(10, -0.5);
    expect(
      activity
        .steps(ofMovies, 3 * stepMs)
        .slice(-3)
        .map(({ requests }) => requests),
    ).toEqual([33, 34, 33]);
  });

  it.each([0, 0.01, 120_000, Number.MAX_SAFE_INTEGER])('counts a duration of %d ms', (durationMs) => {
    const activity = new Activity();
    activity.record(request({ durationMs }), 0);
    expect(activity.routes(0)[0]?.requests).toBe(1);
    expect(activity.routes(0)[0]?.p99).toBeGreaterThan(0);
  });

  it('forgets entries that are older than ten minutes, and reuses their slots', () => {
    const activity = new Activity();
    activity.record(request({ status: 500 }), 0);
    activity.record(request(), 60 * stepMs);
    expect(activity.routes(60 * stepMs)[0]).toMatchObject({ requests: 1, failures: 0 });
    expect(activity.routes(200 * stepMs)[0]).toMatchObject({ requests: 0, p50: undefined, p99: undefined });
  });

  it('has the request rate of the last minute, which counts complete steps only', () => {
    const activity = new Activity();
    for (let count = 0; count < 60; count++) activity.record(request(), 10 * stepMs);
    const rateAt = (step: number) => activity.routes(step * stepMs)[0]?.requestsPerSecond;
    expect([10, 11, 16, 17].map(rateAt)).toEqual([0, 1, 1, 0]);
  });

  it('adds up the steps of the selected routes only', () => {
    const activity = new Activity();
    activity.record(request({ durationMs: 10 }), 0);
    activity.record(request({ route: 'adaptor', status: 502, durationMs: 100 }), 0);
    activity.record(request({ route: 'conductor' }), 0);
    const steps = activity.steps((route) => route !== 'conductor', stepMs);
    expect(steps).toHaveLength(59);
    expect(steps.at(-1)).toMatchObject({ requests: 2, failures: 1 });
    expect(steps.slice(0, -1).every(({ requests }) => requests === 0)).toBe(true);
  });
});

describe('failures', () => {
  it('are grouped when they are equal, with their first and last time and their latest execution', () => {
    const activity = new Activity();
    const failed = { status: 502, problem: 'back-end-timeout' } as const;
    for (const executionId of ['e-1', 'e-2', undefined]) activity.record(request({ ...failed, executionId }));
    activity.record(request({ status: 503, problem: 'engine-unavailable' }));
    activity.record(request({ status: 404 }));
    activity.record(request({ status: 499 }));
    expect(activity.failures).toMatchObject([
      { route: 'movies', status: 503, count: 1, executionId: undefined },
      { route: 'movies', status: 502, problem: 'back-end-timeout', count: 3, executionId: 'e-2' },
    ]);
    expect(activity.failures[1]!.firstAt).toBeLessThanOrEqual(activity.failures[1]!.lastAt);
  });

  it('are kept for the twenty kinds of failure that occurred most recently', () => {
    const activity = new Activity();
    const routes = Array.from({ length: 30 }, (_, index) => `route-${index}`);
    for (const route of ['route-0', ...routes.slice(1), 'route-0']) activity.record(request({ route, status: 500 }));
    expect(activity.failures.map(({ route }) => route)).toEqual(['route-0', ...routes.slice(11).toReversed()]);
  });

  it('the latest execution is returned even if its request succeeded', () => {
    const activity = new Activity();
    expect(activity.latestExecution).toBeUndefined();
    for (const executionId of ['e-1', 'e-2', undefined]) activity.record(request({ executionId }));
    expect(activity.latestExecution).toBe('e-2');
  });
});
