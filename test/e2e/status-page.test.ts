// Tests of the overview page of the operations port: as plain HTML, and in a real browser with and without scripts, at
// the width of a phone, and in dark mode.

import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMarkers } from '../secrets/markers.ts';
import { startBrowser } from '../stack/browser.ts';
import { call, type Caller, callerFor } from '../stack/client.ts';
import { faintTexts, openPage, overflowOf, shoot } from '../stack/pages.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { requires } from '../run/requirements.ts';

const { personal, credential, findIn } = createMarkers();
let stack: Stack;
let demo: Caller;
/** Execution id of a PATCH whose connection the back end reset. */
let failedExecution: string;

beforeAll(async () => {
  // No other test file has this log level, so this file gets a new router, whose counters start at zero.
  stack = await shareStack({ engineUrl: engineOfRun().url, router: { LOG_LEVEL: 'error' } });
  demo = await callerFor(stack.url);
  for (let asked = 0; asked < 10; asked++) await demo(`/movies/${personal('title')}?q=${personal('query')}`);
  await demo(`/adaptor/001/mock/colleges/001/persons/${personal('id')}`);
  await call(`${stack.url}/${personal('nowhere')}`, { headers: { authorization: `Bearer ${credential('token')}` } });
  const body = JSON.stringify({ cccid: personal('cccid') });
  const headers = { 'content-type': 'application/json' };
  const failed = await demo(`/adaptor/001/mock/faults/reset?n=${personal('fault')}`, {
    method: 'PATCH',
    body,
    headers,
  });
  failedExecution = String(failed.headers['x-execution-id']);
});
afterAll(() => stack?.stop());

const statusUrl = () => `${stack.operationsUrl}/`;
const htmlOf = async (path = '/') => (await call(`${stack.operationsUrl}${path}`)).text;
/** Returns the HTML of a route's row, or an empty string if the page has none. */
const rowOf = (page: string, route: string) =>
  new RegExp(`<th scope="row">\\s*<a[^>]*>${route}</a>([\\s\\S]*?)</tr>`).exec(page)?.[1] ?? '';

describe('the page without a browser', () => {
  it('lists health, failures, routes and workers as plain HTML, and is refreshed without a script', async () => {
    const html = await htmlOf();
    expect(html).toMatch(/<strong>Ready<\/strong>/);
    expect(html).toContain('college-adaptor_intake 002');
    expect(html).toContain('back-end-bad-answer');
    expect(html).toMatch(/<noscript>\s*<meta http-equiv="refresh"/);
    expect(rowOf(html, 'movies')).toContain('href="/executions?route=movies"');
    expect(rowOf(await htmlOf('/status'), 'movies')).not.toBe('');
  });

  it('counts no engine errors during the start', async () => {
    expect(await htmlOf()).toMatch(/<dt>engine errors since the start<\/dt>\s*<dd>0<\/dd>/);
  });

  it('allows nothing but its own scripts and style sheets', async () => {
    const { headers, text } = await call(statusUrl());
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    );
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    expect(text).not.toMatch(/ style=|<style|onclick|<script>/);
  });

  it('contains no personal value and no credential', async () => {
    const everything = (await Promise.all(['/', '/status/view', '/status/activity', '/metrics'].map(htmlOf))).join(
      '\n',
    );
    expect(everything).toContain(failedExecution);
    expect(findIn(everything)).toEqual([]);
  });

  it('shows the requests, failures and durations of a route', async () => {
    const row = rowOf(await htmlOf(), 'movies');
    expect(/data-label="requests">(\d+)</.exec(row)?.[1]).toBe('10');
    expect(/data-label="failed"[^>]*>(\d+)</.exec(row)?.[1]).toBe('0');
    expect(row).toMatch(/data-label="p50">[\d.]+ m?s</);
  });

  it('links the failure of a route to the page of its execution', async () => {
    const row = /<th scope="row">PATCH adaptor<\/th>([\s\S]*?)<\/tr>/.exec(await htmlOf())?.[1] ?? '';
    expect(row).toMatch(/<b>502<\/b> back-end-bad-answer/);
    expect(row).toContain(`href="/executions/${failedExecution}"`);
    expect((await call(`${stack.operationsUrl}/executions/${failedExecution}`)).status).toBe(200);
  });
});

describe('in a browser', requires('full', 'chromium'), () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());
  const open = (options: BrowserContextOptions = {}, path = '') => openPage(browser, `${statusUrl()}${path}`, options);

  it('updates itself: a new request appears without a reload, and the browser reports no problem', async () => {
    const { page, complaints, close } = await open({ viewport: { width: 1200, height: 900 } });
    await page.evaluate('window.sameDocument = true');
    await pollUntil('the page to be live', async () => (await page.textContent('#live'))?.startsWith('live'));
    const requests = () => page.textContent('.routes tr:has(a:text-is("movies")) td[data-label="requests"]');
    const before = Number(await requests());
    await demo('/movies/Metropolis');
    await pollUntil('the request to appear', async () => Number(await requests()) === before + 1);
    expect(await page.evaluate('window.sameDocument')).toBe(true);
    expect(complaints).toEqual([]);
    await close();
  });

  it('sends no requests while it is paused, and resumes', async () => {
    const { page, requests, close } = await open();
    const asked = () => requests.filter((url) => url.includes('/status/')).length;
    await page.clock.install();
    await page.reload();
    await page.getByRole('button', { name: 'Pause' }).press('Enter');
    expect(await page.textContent('#live')).toBe('paused');
    const before = asked();
    await page.clock.runFor(20_000);
    expect(asked()).toBe(before);
    await page.getByRole('button', { name: 'Pause' }).press('Enter');
    await page.clock.runFor(3_000);
    await pollUntil('a refresh', () => asked() > before);
    await close();
  });

  it('does not show a response that arrives after the pause', async () => {
    const { page, close } = await open();
    const [requested, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route('**/status/view*', async (route) => {
      requested.resolve();
      await released.promise;
      await route.fulfill({ contentType: 'text/html; charset=utf-8', body: '<p id="late">late</p>' });
    });
    await page.reload({ waitUntil: 'commit' });
    await requested.promise;
    await page.getByRole('button', { name: 'Pause' }).press('Enter');
    const received = page.waitForResponse('**/status/view*');
    released.resolve();
    await (await received).finished();
    // When this call returns, the script has already handled the response.
    await page.evaluate('fetch("/livez").then((response) => response.text())');
    expect(await page.textContent('#live')).toBe('paused');
    expect(await page.locator('#late').count()).toBe(0);
    await close();
  });

  it('draws the rates and durations of one route with uPlot, with a text alternative', async () => {
    const { page, complaints, requests, close } = await open({}, '?route=movies');
    // The charts draw a time step only after it has ended.
    const labels = () =>
      page.evaluate('[...document.querySelectorAll("canvas")].map((one) => one.getAttribute("aria-label"))') as Promise<
        string[]
      >;
    await page.clock.install();
    await pollUntil('a step with requests', async () => {
      await page.clock.runFor(10_000);
      return Number(/: maximum ([\d.]+) \(all\)/.exec((await labels())[0] ?? '')?.[1]) > 0;
    });
    expect((await labels())[1]).toMatch(
      /^Duration in milliseconds in the last ten minutes: maximum [\d.]+ \(median\), [\d.]+ \(99th percentile\)$/,
    );
    expect(
      requests.filter((url) => url.includes('/status/activity')).every((url) => url.endsWith('route=movies')),
    ).toBe(true);
    expect(complaints).toEqual([]);
    await shoot(page, 'overview-charts');
    await close();
  });

  it('shows the same tables without scripts, and makes the browser reload the page', async () => {
    const { page, close } = await open({ javaScriptEnabled: false });
    expect(await page.locator('.routes tbody tr').count()).toBeGreaterThan(1);
    expect(await page.locator('.failures tbody tr').count()).toBeGreaterThan(0);
    expect(await page.locator('noscript meta, meta[http-equiv="refresh"]').count()).toBe(1);
    await close();
  });

  it.each([
    ['light', 360],
    ['dark', 360],
    ['light', 1200],
    ['dark', 1200],
  ] as const)('%s, %i pixels wide: nothing overflows, and all text is legible', async (colorScheme, width) => {
    const { page, close } = await open({ colorScheme, viewport: { width, height: 844 } });
    await page.waitForSelector('canvas');
    await shoot(page, `overview-${colorScheme}-${width}`);
    expect(await overflowOf(page)).toBe(0);
    expect(await faintTexts(page)).toEqual([]);
    await close();
  });

  it('says when the router becomes unavailable, and continues when it is back', async () => {
    const { page, close } = await open();
    await pollUntil('the page to be live', async () => (await page.textContent('#live'))?.startsWith('live'));
    await stack.router.stop();
    await pollUntil('the page to notice', async () => (await page.textContent('#live'))?.includes('does not respond'));
    expect(await page.locator('.routes tbody tr').count()).toBeGreaterThan(0);
    await stack.restartRouter();
    await pollUntil('the page to be live again', async () => (await page.textContent('#live'))?.startsWith('live'));
    await close();
  });
});
