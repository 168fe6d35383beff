// Tests of the building blocks of the pages: values that cannot break out of the HTML, and number formats.

import { describe, expect, it } from 'vitest';
import { formatAge, formatMs, formatRate } from '../../../gateway/operations/pages/format.ts';
import { html } from '../../../gateway/operations/pages/html.ts';
import { Activity } from '../../../gateway/operations/status/activity.ts';
import type { Status } from '../../../gateway/operations/status/status.ts';
import { statusView } from '../../../gateway/operations/status/status-view.ts';

describe('HTML', () => {
  const hostile = `"><script>alert('x')</script>&`;
  it('values are escaped in text and in attributes', () => {
    expect(html`<a title="${hostile}">${hostile}</a>`.text).not.toMatch(/<script|"">|'x'/);
    expect(html`${[html`<b>${1}</b>`, html`<i>${undefined}</i>`]}`.text).toBe('<b>1</b><i></i>');
  });

  it('no value on the page can break out of its element', () => {
    const activity = new Activity();
    const problem = undefined;
    activity.record({
      ...{ route: hostile, method: hostile, executionId: hostile, problem },
      status: 500,
      durationMs: 1,
    });
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
      kindOf: () => 'clients',
      executionRoutes: [hostile],
      chartedRoute: hostile,
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
