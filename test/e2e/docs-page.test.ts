// Tests of /docs in a real browser: the page renders, complies with its content security policy, and calls the router
// with a token.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenApiDocument } from '#lib/openapi/openapi.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { requires } from '../run/requirements.ts';
import { startBrowser } from '../stack/browser.ts';

/** SCREENSHOTS_DIR names a directory for screenshots. */
const pictures = process.env['SCREENSHOTS_DIR'];

describe('/docs in a browser', requires('full', 'chromium'), () => {
  let stack: Stack;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];
  const foreign: string[] = [];

  beforeAll(async () => {
    stack = await shareStack({ engineUrl: engineOfRun().url });
    browser = await startBrowser();
    page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(stack.url) && !request.url().startsWith('data:')) foreign.push(request.url());
    });
    await page.exposeFunction('noteViolation', (text: string) => void complaints.push(text));
    await page.addInitScript({
      content:
        "addEventListener('securitypolicyviolation', (event) => noteViolation(`${event.violatedDirective} ${event.blockedURI}`))",
    });
    await page.goto(stack.url);
    await page.waitForSelector('.opblock');
  });
  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  const picture = async (name: string) => {
    if (pictures === undefined) return;
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: join(pictures, `${name}.png`) });
  };
  const open = async (path: string, method: string) => {
    const block = page.locator(`.opblock-${method}`, { has: page.locator(`[data-path="${path}"]`) });
    await block.locator('.opblock-summary-control').click();
    await block.locator('.execute').waitFor();
    return block;
  };

  it('is the target of the redirect from /', () => expect(page.url()).toBe(`${stack.url}/docs`));

  it('shows every operation of the document except those listed under another path', async () => {
    const { paths } = (await (await fetch(`${stack.url}/openapi.json`)).json()) as OpenApiDocument;
    const shown = Object.values(paths).flatMap((item) =>
      Object.values(item).filter((operation) => operation['x-listed-under'] === undefined),
    );
    expect(await page.locator('.opblock').count()).toBe(shown.length);
    const rest = page.locator('.opblock', { has: page.locator('[data-path="/adaptor/{mis}/{path}"]') });
    expect(await rest.count()).toBe(1);
    expect(await rest.innerText()).toContain('Any other path: GET, POST');
    expect(await page.locator('[data-path="/adaptor/{mis}"]').count()).toBe(0);
    await picture('1-overview');
  });

  it('Authorize offers one scheme: the client credentials flow with the token path', async () => {
    await page.locator('.auth-wrapper .authorize').first().click();
    await page.locator('.auth-container').first().waitFor();
    expect(await page.locator('.auth-container h4').allInnerTexts()).toEqual([
      'accessToken (OAuth2, clientCredentials)',
    ]);
    await page.locator('.modal-ux .close-modal').click();
  });

  it('Try it out: gets a token with the credentials of a dev client, and shows the back end’s response', async () => {
    await page.locator('.auth-wrapper .authorize').first().click();
    const dialog = page.locator('.auth-container', { hasText: 'accessToken (OAuth2, clientCredentials)' });
    await dialog.locator('input[data-name="clientId"]').fill('demo');
    await dialog.locator('input[data-name="clientSecret"]').fill('demo-secret');
    await picture('2-authorize');
    await dialog.locator('button.authorize').click();
    await dialog.locator('button', { hasText: 'Logout' }).waitFor();
    await page.locator('.modal-ux .close-modal').click();

    const block = await open('/movies/{title}', 'get');
    await block.locator('.execute').click();
    const answer = block.locator('.live-responses-table');
    await answer.waitFor();
    await answer.scrollIntoViewIfNeeded();
    await picture('3-answer');
    expect(await answer.locator('.response-col_status').last().innerText()).toContain('200');
    expect(await answer.innerText()).toContain('Fritz Lang');
    expect(await answer.innerText()).toContain('x-execution-id');
  });

  it('Try it out: a PATCH with the example of the document changes the person', async () => {
    const block = await open('/adaptor/{mis}/mock/colleges/{college}/persons/{sisPersonId}', 'patch');
    await block.locator('.execute').click();
    const answer = block.locator('.live-responses-table');
    await answer.waitFor();
    expect(await answer.innerText()).toContain('ABZ9002');
    await answer.scrollIntoViewIfNeeded();
    await picture('4-patch');
  });

  it('a problem page is styled under its own content security policy', async () => {
    const problem = await browser.newPage();
    problem.on('console', (message) => complaints.push(message.text()));
    await problem.goto(`${stack.url}/problems/wait-budget-spent`);
    expect(await problem.locator('h1').innerText()).toContain('response deadline');
    expect(await problem.evaluate('getComputedStyle(document.body).maxWidth')).toBe('672px');
    if (pictures !== undefined) await problem.screenshot({ path: join(pictures, '5-problem.png') });
    await problem.close();
  });

  it('nothing violated the policy, no script failed, and nothing was fetched from another origin', () => {
    expect(complaints).toEqual([]);
    expect(foreign).toEqual([]);
  });
});
