// Tests of the script that refreshes the pages, in a real browser: what it keeps while other content changes.

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OperationsRoutes, startOperationsServer } from '../../../gateway/operations/operations-server.ts';
import { createAssetRoutes } from '../../../gateway/operations/pages/assets.ts';
import { html } from '../../../gateway/operations/pages/html.ts';
import { documentOf, send } from '../../../gateway/operations/pages/page.ts';
import type { Readiness } from '../../../gateway/operations/readiness.ts';
import { Activity } from '../../../gateway/operations/status/activity.ts';
import { createStatusRoutes } from '../../../gateway/operations/status/status-page.ts';
import { requires } from '../../run/requirements.ts';
import { startBrowser } from '../../stack/browser.ts';
import { openPage } from '../../stack/pages.ts';
import { pollUntil } from '../../stack/poll-until.ts';

const ready: Readiness = { ready: true, reasons: {}, notices: {} };

describe('an open page', requires('full', 'chromium'), () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());

  /** Opens the page `/` of these routes. */
  async function open(routes: OperationsRoutes) {
    const server = await startOperationsServer({
      ...{
        host: '127.0.0.1',
        port: 0,
        hosts: [],
        readiness: { ask: async () => ready },
        keys: 'ops.port',
        log: console,
      },
      pages: { ...routes, ...createAssetRoutes() },
    });
    const { page, complaints, close } = await openPage(browser, server.url);
    return {
      page,
      complaints,
      async close() {
        await close();
        await server.stop();
      },
    };
  }

  it('keeps the charts and the failures of the overview while the readiness of the router changes', async () => {
    const activity = new Activity();
    const failed = { route: 'movies', method: 'GET', status: 503, executionId: undefined };
    activity.record({ ...failed, problem: 'engine-unavailable', durationMs: 1 });
    let readiness: Readiness = ready;
    const { page, complaints, close } = await open(
      createStatusRoutes({
        ...{ activity, kindOf: () => 'clients', executionRoutes: () => [] },
        gather: async () => ({
          ...{ readiness, breakers: [], workers: [], routes: [], failures: activity.failures },
          ...{ upSeconds: 1, inFlight: 0, waitingClients: 0, heldPolls: 0, queued: 0 },
          ...{ engineErrors: 0, unreconciled: 0 },
        }),
      }),
    );
    await page.waitForSelector('canvas');
    const shown = () =>
      page.evaluate(`({
        headings: [...document.querySelectorAll('h2')].map((heading) => heading.firstChild.nodeValue.trim()),
        charts: document.querySelectorAll('[data-keep] canvas').length,
        failures: document.querySelectorAll('.failures tbody tr').length,
      })`);
    const before = await shown();
    expect(before).toMatchObject({ charts: 2, failures: 1 });
    const unready: Readiness = { ...ready, ready: false, reasons: { engine: ['does not respond'] } };
    for (const next of [unready, ready]) {
      readiness = next;
      const state = next.ready ? 'Ready' : 'Not ready';
      await pollUntil(state, async () => (await page.textContent('.health strong')) === state);
      expect(await page.locator('.reasons').count()).toBe(next.ready ? 0 : 1);
      expect(await shown()).toEqual(before);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  it('keeps an element with data-keep while elements before it appear and disappear', async () => {
    const kept = html`<section data-keep="">kept</section>`;
    const contents = {
      alone: html`${kept}`,
      before: html`<p>one</p>
        ${kept}
        <section>two</section>`,
      shifted: html`<p>one</p>
        <ul></ul>
        <section>new</section>
        ${kept}
        <section>two</section>`,
      without: html`<p>one</p>
        <section>two</section>`,
    };
    let content = contents.before;
    const { page, close } = await open({
      '/': async (response) =>
        send(response, documentOf({ title: 'Test', main: content, refresh: { from: '/view', everyMs: 20 } })),
      '/view': async (response) => send(response, content.text),
    });
    const refreshTo = async (next: typeof content) => {
      content = next;
      await pollUntil('the new content', async () => (await page.innerHTML('#view')) === next.text);
    };
    const isSame = () => page.evaluate('document.querySelector("[data-keep]") === window.kept');
    await page.evaluate('window.kept = document.querySelector("[data-keep]")');
    for (const next of [contents.shifted, contents.before, contents.alone, contents.shifted]) {
      await refreshTo(next);
      expect(await isSame()).toBe(true);
    }
    await refreshTo(contents.without);
    await refreshTo(contents.before);
    expect(await isSame()).toBe(false);
    await close();
  });
});
