// The status page as an operator sees it: in a real browser, live and without scripts, on a phone, in the dark.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMarkers } from '../secrets/markers.ts';
import { startBrowser } from '../stack/browser.ts';
import { call, type Caller, callerFor } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack } from '../stack/shared-stack.ts';
import type { Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { requires } from '../run/requirements.ts';

const uiURL = 'http://127.0.0.1:9/ui/';
const { personal, credential, findIn } = createMarkers();
let stack: Stack;
let demo: Caller;
/** Of a PATCH that its back end broke off. */
let failedExecution: string;

beforeAll(async () => {
  stack = await shareStack({ engineUrl: engineOfRun().url, router: { CONDUCTOR_UIURL: uiURL } });
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
}, 120_000);
afterAll(() => stack?.stop());

const statusUrl = () => `${stack.operationsUrl}/`;
const htmlOf = async (path = '/') => (await call(`${stack.operationsUrl}${path}`)).text;

describe('the page without a browser', () => {
  it('lists routes, health, workers and failures as plain HTML, and is refreshed without a script', async () => {
    const html = await htmlOf();
    expect(html).toMatch(/<tr>\s*<th scope="row">movies<\/th>/);
    expect(html).toMatch(/<strong>Ready<\/strong>/);
    expect(html).toContain('college-adaptor_intake');
    expect(html).toContain('back-end-bad-answer');
    expect(html).toContain('<noscript><meta http-equiv="refresh"');
    expect(await htmlOf('/status')).toContain('<th scope="row">movies</th>');
  });

  it('allows nothing but its own script and style sheet', async () => {
    const { headers, text } = await call(statusUrl());
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    expect(text).not.toMatch(/ style=|<style|onclick|<script>/);
  });

  it('holds no value of a person and no credential', async () => {
    const everything = (await Promise.all(['/', '/status/view', '/metrics'].map(htmlOf))).join('\n');
    expect(everything).toContain(failedExecution);
    expect(findIn(everything)).toEqual([]);
  });

  it('every number of the routes is that of the requests that were made', async () => {
    const row = /<th scope="row">movies<\/th>([\s\S]*?)<\/tr>/.exec(await htmlOf())?.[1] ?? '';
    expect(/data-label="requests">(\d+)</.exec(row)?.[1]).toBe('10');
    expect(/data-label="failed"[^>]*>(\d+)</.exec(row)?.[1]).toBe('0');
    expect(row).toMatch(/data-label="p50">[\d.]+ m?s</);
  });
});

describe('in a browser', requires('chromium'), () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());

  /** Opens the page; what the browser complains of is collected. */
  async function open(options: BrowserContextOptions = {}): Promise<{ page: Page; complaints: string[] }> {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(statusUrl());
    return { page, complaints };
  }

  /** Kept where SCREENSHOTS_DIR says, to be looked at. */
  async function shoot(page: Page, name: string): Promise<Buffer> {
    const image = await page.screenshot({ fullPage: true });
    const directory = process.env['SCREENSHOTS_DIR'];
    if (directory !== undefined) {
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, `status-${name}.png`), image);
    }
    return image;
  }

  const widthOf = (page: Page) =>
    page.evaluate('[document.documentElement.scrollWidth, window.innerWidth]') as Promise<[number, number]>;

  it('goes on by itself: a new request appears without a reload, and nothing is complained of', async () => {
    const { page, complaints } = await open({ viewport: { width: 1200, height: 900 } });
    await page.evaluate('window.sameDocument = true');
    await pollUntil('the page to be live', async () => (await page.textContent('#live'))?.startsWith('live'));
    const requests = () => page.textContent('tr:has(th:text-is("movies")) td[data-label="requests"]');
    const before = Number(await requests());
    await demo('/movies/Metropolis');
    await pollUntil('the request to appear', async () => Number(await requests()) === before + 1);
    expect(await page.evaluate('window.sameDocument')).toBe(true);
    expect(complaints).toEqual([]);
    await shoot(page, 'desktop');
    await page.context().close();
  });

  it('links each failure to its execution in the engine’s UI', async () => {
    const { page } = await open();
    const link = page.locator('.failures a').first();
    expect(await link.getAttribute('href')).toBe(`http://127.0.0.1:9/ui/execution/${failedExecution}`);
    expect(await link.textContent()).toBe(failedExecution);
    await page.context().close();
  });

  it('draws a chart of rates and one of times for each route, with a text for those who do not see it', async () => {
    const { page } = await open();
    // A step is drawn when it is over.
    await pollUntil(
      'bars and lines',
      async () =>
        (await page.locator('svg rect.good').count()) > 0 && (await page.locator('svg path.p99[d^="M"]').count()) > 0,
      { timeoutMs: 30_000 },
    );
    const labels = (await page.evaluate(
      '[...document.querySelectorAll("svg")].map((one) => one.getAttribute("aria-label"))',
    )) as string[];
    expect(labels.length).toBeGreaterThan(2);
    expect(labels.every((label) => /last ten minutes, at most/.test(label))).toBe(true);
    await shoot(page, 'charts');
    await page.context().close();
  }, 60_000);

  it('without scripts: the same tables, and the page asks to be loaded again', async () => {
    const { page } = await open({ javaScriptEnabled: false });
    expect(await page.locator('.routes tbody tr').count()).toBeGreaterThan(1);
    expect(await page.locator('.failures tbody tr').count()).toBeGreaterThan(0);
    expect(await page.locator('noscript meta, meta[http-equiv="refresh"]').count()).toBe(1);
    await page.context().close();
  });

  it.each([
    ['light', 390],
    ['dark', 390],
    ['dark', 1200],
  ] as const)(
    '%s, %i pixels wide: nothing sticks out, and text stands off its background',
    async (colorScheme, width) => {
      const { page } = await open({ colorScheme, viewport: { width, height: 844 } });
      const [scrollWidth, innerWidth] = await widthOf(page);
      expect(scrollWidth).toBeLessThanOrEqual(innerWidth);
      const colours = (await page.evaluate(
        '["color", "backgroundColor"].map((name) => getComputedStyle(document.body)[name].match(/[\\d.]+/g).slice(0, 3).map(Number))',
      )) as [number[], number[]];
      expect(contrast(...colours)).toBeGreaterThan(7);
      expect(luminance(colours[1]) > 0.5).toBe(colorScheme === 'light');
      await shoot(page, `${colorScheme}-${width}`);
      await page.context().close();
    },
  );

  it('the router goes away and comes back: the page says so, and goes on', async () => {
    const { page } = await open();
    await pollUntil('the page to be live', async () => (await page.textContent('#live'))?.startsWith('live'));
    await stack.router.stop();
    await pollUntil('the page to notice', async () => (await page.textContent('#live'))?.includes('does not respond'));
    expect(await page.locator('.routes tbody tr').count()).toBeGreaterThan(0);
    await stack.restartRouter();
    await pollUntil('the page to be live again', async () => (await page.textContent('#live'))?.startsWith('live'), {
      timeoutMs: 20_000,
    });
    await page.context().close();
  }, 60_000);
});

/** WCAG 2: relative luminance of an sRGB colour, and the contrast of two. */
function luminance(colour: readonly number[]): number {
  const [r = 0, g = 0, b = 0] = colour.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: readonly number[], other: readonly number[]): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}
