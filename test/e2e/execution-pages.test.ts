// Tests of the operations pages for executions: list, search, timeline, diagram, and the path of a change from the
// PATCH to the second college.

import { randomUUID } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMarkers } from '../secrets/markers.ts';
import { type BreakableProxy, startBreakableProxy } from '../stack/breakable-proxy.ts';
import { startBrowser } from '../stack/browser.ts';
import { call, type Caller, callerFor, type RouterAnswer } from '../stack/client.ts';
import { faintTexts, type OpenPage, openPage, overflowOf, shoot } from '../stack/pages.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { requires } from '../run/requirements.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const engineUrl = engineOfRun().url;
const uiURL = 'http://127.0.0.1:9/ui/';
const { personal, findIn } = createMarkers();
let proxy: BreakableProxy;
let stack: Stack;
let demo: Caller;
/** A PATCH that MDM shares with college 002. */
let patched: RouterAnswer;
/** A PATCH whose connection the back end reset before it responded. */
let failed: RouterAnswer;
/** An execution whose task no worker takes. */
let hanging: string;
/** An execution of a workflow with many kinds of task. */
let drawn: string;
const drawnWorkflow = `drawn-${randomUUID().slice(0, 8)}`;

const json = { 'content-type': 'application/json' };
const executionOf = (answer: RouterAnswer) => String(answer.headers['x-execution-id']);
const postToEngine = (path: string, body: unknown) =>
  call(`${engineUrl}${path}`, { method: 'POST', headers: json, body: JSON.stringify(body) });

function patch(path: string): Promise<RouterAnswer> {
  const body = JSON.stringify({ cccid: personal('cccid'), email: `${personal('mail')}@example.org` });
  return demo(`/adaptor/001/mock/${path}`, { method: 'PATCH', headers: json, body });
}

function untilShared(source: string): Promise<boolean> {
  const path = `/api/workflow/mdm-shareWF/correlated/${source}?includeClosed=true`;
  return pollUntil(
    'the share to complete',
    async () =>
      (await call(`${engineUrl}${path}`)).json<{ status: string }[]>().some((one) => one.status === 'COMPLETED'),
    // The engine may take a minute to start listening to a new handler's queue.
    { timeoutMs: 100_000, everyMs: 200 },
  );
}

beforeAll(async () => {
  proxy = await startBreakableProxy(engineUrl);
  stack = await shareStack({ engineUrl: proxy.url, router: { CONDUCTOR_UIURL: uiURL } });
  demo = await callerFor(stack.url);
  await registerDrawn();
  const nobody = { version: 1, taskToDomain: { movies_intake: 'nobody' } };
  drawn = (await postToEngine('/api/workflow', { ...nobody, name: drawnWorkflow, input: { kind: 'b' } })).text;
  hanging = (await postToEngine('/api/workflow', { ...nobody, name: 'moviesWF', input: {} })).text;
  for (let count = 0; count < 30; count++) await demo(`/movies/${personal('title')}?q=${personal('query')}`);
  failed = await patch(`faults/reset?n=${personal('fault')}`);
  patched = await patch('colleges/001/persons/0318204');
  await untilShared(executionOf(patched));
});

afterAll(async () => {
  if (hanging !== undefined) await call(`${engineUrl}/api/workflow/${hanging}`, { method: 'DELETE' });
  if (drawn !== undefined) await call(`${engineUrl}/api/workflow/${drawn}`, { method: 'DELETE' });
  await call(`${engineUrl}/api/metadata/workflow/${drawnWorkflow}/1`, { method: 'DELETE' });
  await stack?.stop();
  await proxy?.stop();
});

/**
 * Registers a workflow with task types that do not occur in this product's definitions, but may occur in those of other
 * gateways.
 */
async function registerDrawn(): Promise<void> {
  const simple = (name: string) => ({ name: 'movies_intake', taskReferenceName: name, type: 'SIMPLE' });
  const definition = {
    ...{ name: drawnWorkflow, version: 1, ownerEmail: 'service-router@example.org', schemaVersion: 2 },
    timeoutSeconds: 0,
    tasks: [
      {
        ...{
          name: 'kind',
          taskReferenceName: 'kind',
          type: 'SWITCH',
          evaluatorType: 'value-param',
          expression: 'kind',
        },
        inputParameters: { kind: '${workflow.input.kind}' },
        decisionCases: { a: [simple('in_a')], b: [] },
        defaultCase: [simple('in_default')],
      },
      {
        ...{ name: 'fork', taskReferenceName: 'fork', type: 'FORK_JOIN' },
        forkTasks: [
          [{ ...simple('left'), inputParameters: { clientId: 'demo' } }],
          [{ name: 'call', taskReferenceName: 'call', type: 'HTTP', inputParameters: { uri: 'http://127.0.0.1:9/' } }],
          [
            {
              ...{ name: 'sub', taskReferenceName: 'sub', type: 'SUB_WORKFLOW' },
              subWorkflowParam: { name: 'moviesWF', version: 1 },
            },
          ],
        ],
      },
      { name: 'join', taskReferenceName: 'join', type: 'JOIN', joinOn: ['left', 'call', 'sub'] },
      { name: 'told', taskReferenceName: 'told', type: 'EVENT', sink: 'conductor:nothing' },
      { name: 'person', taskReferenceName: 'person', type: 'HUMAN' },
    ],
  };
  const { status, text } = await postToEngine('/api/metadata/workflow', definition);
  if (status !== 200) throw new Error(`the workflow was not registered: ${status} ${text}`);
}

const get = (path: string) => call(`${stack.operationsUrl}${path}`);
const rowsOf = (html: string) =>
  [...html.matchAll(/<th scope="row">\s*<a class="id" href="\/executions\/([\w-]+)"/g)].map(([, id]) => id);

describe('the list', () => {
  it('shows the executions of a route in pages that do not overlap', async () => {
    const first = (await get('/executions?route=movies')).text;
    expect(rowsOf(first)).toHaveLength(25);
    const next = /href="([^"]*)" rel="next"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const second = rowsOf((await get(next)).text);
    expect(second.length).toBeGreaterThanOrEqual(5);
    expect(second.filter((id) => rowsOf(first).includes(id))).toEqual([]);
  });

  it.each([
    ['state=unsuccessful&route=adaptor', () => executionOf(failed)],
    ['workflow=mdm-shareWF', async () => undefined],
    ['client=demo&workflow=college-adaptorWF&since=15m', () => executionOf(patched)],
  ])('filters by %s', async (query, expected) => {
    const { status, text } = await get(`/executions?${query}`);
    expect(status).toBe(200);
    expect(rowsOf(text).length).toBeGreaterThan(0);
    const id = await expected();
    if (id !== undefined) expect(rowsOf(text)).toContain(id);
    else expect(text).toMatch(/mdm-shareWF\s*<small>/);
    expect(text).not.toMatch(/moviesWF\s*<small>/);
  });

  it('shows what a hanging execution waits for', async () => {
    const { text } = await get('/executions?state=running&workflow=moviesWF');
    expect(rowsOf(text)).toContain(hanging);
    expect(text).toMatch(/waits for a worker to take movies_intake in domain nobody \(\d+ s so far\)/);
  });

  it('returns 400 with reasons for a filter that the engine could not process', async () => {
    const { status, text } = await get("/executions?client=a'b&state=odd&until=yesterday");
    expect(status).toBe(400);
    expect(text).toMatch(
      /client: only letters[\s\S]*state: must be one of running, unsuccessful, [\s\S]*until: must be a time/,
    );
  });

  it('finds an execution by its id or its request id, and says when it finds none', async () => {
    const find = async (id: string) => (await get(`/executions/find?id=${encodeURIComponent(id)}`)).headers['location'];
    expect(await find(` ${executionOf(failed)} `)).toBe(`/executions/${executionOf(failed)}`);
    const byRequest = String(await find(String(failed.headers['x-request-id'])));
    expect(rowsOf((await get(byRequest)).text)).toEqual([executionOf(failed)]);
    expect((await get(String(await find(randomUUID())))).text).toContain('No execution');
    expect((await get(`/executions/${randomUUID()}`)).status).toBe(404);
  });

  it('finds a request with an Idempotency-Key by its request id', async () => {
    const keyed = await demo('/movies/Metropolis', { headers: { 'idempotency-key': randomUUID() } });
    const { text } = await get(`/executions?since=all&id=${String(keyed.headers['x-request-id'])}`);
    expect(rowsOf(text)).toEqual([executionOf(keyed)]);
  });
});

describe('an execution', () => {
  it('shows a diagram and a link to the engine’s UI, and masks text in inputs', async () => {
    const { status, text, headers } = await get(`/executions/${executionOf(patched)}`);
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toContain("script-src 'self'");
    expect(text).not.toMatch(/ style=|<style|onclick|<script>/);
    expect(text).toContain(`http://127.0.0.1:9/ui/execution/${executionOf(patched)}`);
    expect(text).toMatch(/class="diagram"[\s\S]*on_patch[\s\S]*person_patched/);
    expect(text).toContain('&quot;httpMethod&quot;: &quot;PATCH&quot;');
    expect(text).toMatch(/‹text, length \d+›/);
  });

  it('contains no personal value, whatever the request was', async () => {
    const share = rowsOf((await get('/executions?workflow=mdm-shareWF')).text)[0];
    const ids = [executionOf(patched), executionOf(failed), String(share), hanging, drawn];
    const pages = ['/executions', '/executions?route=movies', ...ids.map((id) => `/executions/${id}`)];
    for (const path of pages) expect({ path, found: findIn((await get(path)).text) }).toEqual({ path, found: [] });
  });

  it('says why the execution failed', async () => {
    const { text } = await get(`/executions/${executionOf(failed)}`);
    expect(text).toMatch(/back-end-bad-answer: /);
    expect(text).toMatch(/class="state bad">failed/);
  });

  it('draws tasks of many kinds, with their states and the path that was taken', async () => {
    const { text } = await get(`/executions/${drawn}`);
    const nodes = Object.fromEntries(
      [...text.matchAll(/<g class="node (\w+)[^"]*">\s*<title>([^:<]+): ([^<]+)<\/title>/g)].map(
        ([, meaning, title = '', subtitle]) => [title, `${meaning}: ${subtitle}`],
      ),
    );
    expect(nodes).toEqual({
      kind: 'good: SWITCH, completed',
      in_a: 'idle: SIMPLE, not reached',
      in_default: 'idle: SIMPLE, not reached',
      fork: 'good: FORK_JOIN, completed',
      left: 'open: SIMPLE, scheduled',
      call: 'open: HTTP, scheduled',
      moviesWF: 'open: SUB_WORKFLOW, scheduled',
      join: 'open: JOIN, in progress',
      told: 'idle: EVENT, not reached',
      person: 'idle: HUMAN, not reached',
    });
    expect(text.match(/<path class="edge idle"/g)).toHaveLength(2);
  });

  it('shows the whole change, from the PATCH to the second college, in one diagram on the page of each execution', async () => {
    const share = rowsOf((await get('/executions?workflow=mdm-shareWF')).text)[0];
    for (const id of [executionOf(patched), String(share)]) {
      const { text } = await get(`/executions/${id}`);
      expect(text).toMatch(/all 3 completed within [\d.]+ m?s/);
      const titles = [...text.matchAll(/<title>([^:<]+): completed/g)].map(([, title]) => title);
      expect(titles).toEqual(['college-adaptorWF 001', 'mdmWF 001', 'mdm-shareWF 002']);
      expect(text.match(/class="node good current"/g)).toHaveLength(1);
    }
  });

  it('says that MDM was not notified of a PATCH that was refused', async () => {
    const refused = await patch('faults/status/409');
    const { text } = await get(`/executions/${executionOf(refused)}`);
    expect(text).toMatch(/<title>mdmWF: not started<\/title>/);
    expect(text).toContain('1 not started');
    expect(text).toContain('the condition of the handler of person_patched is false');
  });
});

describe('access', () => {
  it('refuses other methods, other host names, and embedding in pages of other origins', async () => {
    const path = `${stack.operationsUrl}/executions/${executionOf(failed)}`;
    expect((await call(path, { method: 'POST' })).status).toBe(405);
    expect((await call(path, { method: 'DELETE' })).status).toBe(405);
    expect((await call(path, { headers: { host: 'evil.example' } })).status).toBe(421);
    const foreign = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' };
    expect((await call(path, { headers: foreign })).status).toBe(403);
    expect((await call(path, { headers: { ...foreign, 'sec-fetch-dest': 'document' } })).status).toBe(200);
  });
});

describe('in a browser', requires('full', 'chromium'), () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());
  const open = (path: string, options = {}): Promise<OpenPage> =>
    openPage(browser, `${stack.operationsUrl}${path}`, options);

  it('can be used with the keyboard alone: the id field and the links in the diagram open pages', async () => {
    const { page, complaints, close } = await open('/');
    await page.locator('#find').focus();
    await page.keyboard.type(executionOf(patched));
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/executions/${executionOf(patched)}`);
    const link = page.locator('.diagram a').last();
    await link.focus();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => !url.pathname.endsWith(executionOf(patched)));
    await page.waitForSelector('text=mdm_share');
    expect(complaints).toEqual([]);
    await close();
  });

  it.each([
    ['light', 360],
    ['dark', 360],
    ['light', 1280],
    ['dark', 1280],
  ] as const)('%s, %i pixels wide: nothing overflows, and all text is legible', async (colorScheme, width) => {
    const ids = { round: executionOf(patched), failed: executionOf(failed), drawn };
    const paths = Object.entries(ids).map(([name, id]) => [name, `/executions/${id}`] as const);
    for (const [name, path] of [['list', '/executions'], ['running', '/executions?state=running'], ...paths] as const) {
      const { page, complaints, close } = await open(path, { colorScheme, viewport: { width, height: 800 } });
      await page.evaluate('document.querySelectorAll("details").forEach((each) => (each.open = true))');
      await shoot(page, `${name}-${colorScheme}-${width}`);
      expect({ name, overflow: await overflowOf(page) }).toEqual({ name, overflow: 0 });
      expect({ name, faint: await faintTexts(page) }).toEqual({ name, faint: [] });
      expect(complaints).toEqual([]);
      await close();
    }
  });

  it('shows the same page without scripts', async () => {
    const { page, close } = await open(`/executions/${executionOf(patched)}`, { javaScriptEnabled: false });
    expect(await page.locator('.timeline tbody tr').count()).toBe(3);
    expect(await page.locator('.diagram').count()).toBe(2);
    await close();
  });

  it('follows a running execution to its end, keeps the focus, and sends no request while hidden', async () => {
    const { text: id } = await postToEngine('/api/workflow', {
      ...{ name: 'moviesWF', version: 1, input: {}, taskToDomain: { movies_intake: 'nobody' } },
    });
    const { page, requests, close } = await open(`/executions/${id}`);
    await page.clock.install();
    await page.reload();
    const asked = () => requests.filter((url) => url.includes('/executions/view')).length;
    const hide = (value: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${value}, configurable: true })`);
    const hasFocus = () => page.evaluate('document.activeElement.matches(".links a")');
    await page.locator('.links a').first().focus();
    await pollUntil('two refreshes', async () => {
      await page.clock.runFor(3_000);
      return asked() >= 2;
    });
    expect(await hasFocus()).toBe(true);
    await hide(true);
    await call(`${engineUrl}/api/workflow/${id}`, { method: 'DELETE' });
    const before = asked();
    await page.clock.runFor(30_000);
    expect(asked()).toBe(before);
    await hide(false);
    await page.clock.runFor(3_000);
    await page.waitForSelector('.facts .state.bad:text-is("terminated")');
    expect(await hasFocus()).toBe(true);
    await close();
  });

  it('says that the engine is unavailable, even on an open page, and recovers when the engine is back', async () => {
    const { page, close } = await open(`/executions/${hanging}`);
    await proxy.cut();
    await page.waitForSelector('text=The engine does not respond', { timeout: 20_000 });
    expect((await get('/executions')).status).toBe(503);
    expect((await get(`/executions/find?id=${hanging}`)).headers['location']).toBe(`/executions/${hanging}`);
    expect((await get('/')).status).toBe(200);
    await shoot(page, 'engine-away');
    await proxy.repair();
    await page.waitForSelector('text=in domain nobody', { timeout: 20_000 });
    await close();
  });

  it('says within 12 seconds that a frozen engine does not respond', async () => {
    proxy.freeze();
    const startedAt = performance.now();
    const { status, text } = await get('/executions');
    proxy.thaw();
    expect([status, performance.now() - startedAt < 12_000]).toEqual([503, true]);
    expect(text).toContain('The engine does not respond');
  });
});
