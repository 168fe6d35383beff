// The parts of the status page: the window of requests, charts, and HTML into which nothing breaks out.

import { describe, expect, it } from 'vitest';
import type { EndedRequest } from '../../../gateway/server/access-log.ts';
import { Activity, stepMs } from '../../../gateway/operations/status/activity.ts';
import { latencyChart, rateChart } from '../../../gateway/operations/status/chart.ts';
import { formatAge, formatMs, formatRate } from '../../../gateway/operations/status/format.ts';
import { html } from '../../../gateway/operations/status/html.ts';
import type { Status } from '../../../gateway/operations/status/status.ts';
import { statusView } from '../../../gateway/operations/status/status-view.ts';

const request = (fields: Partial<EndedRequest> = {}): EndedRequest => ({
  route: 'movies',
  method: 'GET',
  status: 200,
  durationMs: 10,
  executionId: undefined,
  problem: undefined,
  ...fields,
});

describe('the activity of a route', () => {
  it('percentiles are right to a fifth', () => {
    const activity = new Activity();
    for (let ms = 1; ms <= 1_000; ms++) activity.record(request({ durationMs: ms }), 0);
    const [movies] = activity.routes(0);
    expect(movies).toMatchObject({ route: 'movies', requests: 1_000, failures: 0 });
    expect(movies!.p50! / 500).toBeGreaterThan(0.8);
    expect(movies!.p50! / 500).toBeLessThan(1.2);
    expect(movies!.p99! / 990).toBeGreaterThan(0.8);
    expect(movies!.p99! / 990).toBeLessThan(1.2);
  });

  it.each([0, 0.01, 120_000, Number.MAX_SAFE_INTEGER])('a duration of %d ms has its place', (durationMs) => {
    const activity = new Activity();
    activity.record(request({ durationMs }), 0);
    expect(activity.routes(0)[0]?.p99).toBeGreaterThan(0);
  });

  it('what is older than ten minutes is gone, and its place is used again', () => {
    const activity = new Activity();
    activity.record(request({ status: 500 }), 0);
    activity.record(request(), 60 * stepMs);
    expect(activity.routes(60 * stepMs)[0]).toMatchObject({ requests: 1, failures: 0 });
    expect(activity.routes(200 * stepMs)[0]).toMatchObject({ requests: 0, p50: undefined, p99: undefined });
  });

  it('the rate is that of the last minute of whole steps', () => {
    const activity = new Activity();
    for (let count = 0; count < 60; count++) activity.record(request(), 10 * stepMs);
    expect(activity.routes(10 * stepMs)[0]?.requestsPerSecond).toBe(0);
    expect(activity.routes(11 * stepMs)[0]?.requestsPerSecond).toBe(1);
    expect(activity.routes(16 * stepMs)[0]?.requestsPerSecond).toBe(1);
    expect(activity.routes(17 * stepMs)[0]?.requestsPerSecond).toBe(0);
  });

  it('keeps the latest twenty failures, the newest first, and no response below 500', () => {
    const activity = new Activity();
    for (let count = 0; count < 30; count++) activity.record(request({ status: 502, executionId: `e-${count}` }), 0);
    activity.record(request({ status: 404 }), 0);
    activity.record(request({ status: 499 }), 0);
    expect(activity.failures.map(({ executionId }) => executionId)).toEqual(
      Array.from({ length: 20 }, (_, index) => `e-${29 - index}`),
    );
  });
});

describe('charts', () => {
  const step = (requests: number, failures = 0, p99?: number) => ({ requests, failures, p50: p99, p99 });
  it('a bar for each step with requests, the failures in a bar of their own', () => {
    const svg = rateChart([step(0), step(20), step(10, 5)]).text;
    expect(svg.match(/<rect class="good"/g)).toHaveLength(2);
    expect(svg.match(/<rect class="bad"/g)).toHaveLength(1);
    expect(svg).toContain('at most 2.0/s');
  });

  it('a line that is broken where nothing was asked', () => {
    const svg = latencyChart([step(1, 0, 5), step(1, 0, 10), step(0), step(1, 0, 7)]).text;
    const path = /class="p99" d="([^"]*)"/.exec(svg)?.[1] ?? '';
    expect(path.match(/M/g)).toHaveLength(2);
    expect(path.match(/L/g)).toHaveLength(1);
  });

  it('nothing asked at all: no bar, no line, and no NaN', () => {
    const empty = [step(0), step(0)];
    expect(rateChart(empty).text + latencyChart(empty).text).not.toMatch(/NaN|Infinity|<rect|p99" d="M/);
  });
});

describe('HTML', () => {
  const hostile = `"><script>alert('x')</script>&`;
  it('values are escaped, in text and in attributes', () => {
    expect(html`<a title="${hostile}">${hostile}</a>`.text).not.toMatch(/<script|"">|'x'/);
    expect(html`${[html`<b>${1}</b>`, html`<i>${undefined}</i>`]}`.text).toBe('<b>1</b><i></i>');
  });

  it('nothing that the page shows can break out of it', () => {
    const activity = new Activity();
    activity.record(request({ route: hostile, method: hostile, status: 500, executionId: hostile }));
    const status: Status = {
      readiness: {
        ready: false,
        reasons: { [hostile]: [hostile], engine: [hostile] },
        notices: { [hostile]: [hostile] },
      },
      ...{ upSeconds: 1, inFlight: 0, waitingClients: 0, heldPolls: 0, queued: 0, engineErrors: 0, unreconciled: 0 },
      breakers: [{ name: hostile, value: 2 }],
      workers: [{ name: hostile, value: Number.POSITIVE_INFINITY }],
      routes: activity.routes(),
      failures: activity.failures,
    };
    const text = statusView(status, {
      uiURL: 'http://ui.example/',
      kindOf: (route) => (route === 'conductor' ? 'workers' : 'clients'),
    }).text;
    expect(text).toContain('&lt;script&gt;');
    expect(text).not.toContain('<script');
    expect(text).not.toMatch(/href="[^"]*[<>']/);
    expect(text).toContain('Not ready');
    expect(text).toContain('never polled here');
  });
});

describe('numbers', () => {
  it.each([
    [undefined, '–'],
    [0.34, '0.3 ms'],
    [38.4, '38 ms'],
    [1_250, '1.25 s'],
  ])('%s ms → %s', (ms, text) => expect(formatMs(ms)).toBe(text));

  it.each([
    [0, '0'],
    [0.016, '0.02/s'],
    [3.44, '3.4/s'],
    [120.4, '120/s'],
  ])('%s a second → %s', (rate, text) => expect(formatRate(rate)).toBe(text));

  it.each([
    [0.2, '0 s'],
    [119, '119 s'],
    [120, '2 min'],
    [7_200, '2 h'],
    [200_000, '2 d'],
  ])('%s s → %s', (seconds, text) => expect(formatAge(seconds)).toBe(text));
});
