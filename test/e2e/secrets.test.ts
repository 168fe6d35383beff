// Tests that secrets do not leak: marked credentials and personal values are sent through the running system, and
// everything that the system writes is searched for them.

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Engine } from '#lib/conductor/engine.ts';
import { type IngestEndpoint, startIngestEndpoint } from '../lib/telemetry/error-tracking/ingest-endpoint.ts';
import { readPage, rowsOf, sectionOf } from '../docs/pages.ts';
import { type EngineStore, postgresStore, sqliteStore } from '../secrets/engine-database.ts';
import { type LaunchedStack, launchStack } from '../secrets/launched-stack.ts';
import { createMarkers } from '../secrets/markers.ts';
import { type Exchange, provokeRefusals } from '../secrets/provoke.ts';
import { type BreakableProxy, startBreakableProxy } from '../stack/breakable-proxy.ts';
import { call, type CallOptions, tokenOf } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { engineOfRun } from './engine-of-run.ts';

const engineUrl = engineOfRun().url;
const engineStateDir = engineOfRun().stateDir;
/** CONDUCTOR_STATE_DIR (SQLite) or CONDUCTOR_DATABASE (PostgreSQL) names the database of an existing engine. */
const databaseUrl = process.env['CONDUCTOR_DATABASE'];
const store: EngineStore = databaseUrl === undefined ? sqliteStore(engineStateDir) : postgresStore(databaseUrl);

const engine = new Engine({ url: engineUrl, timeoutMs: 10_000, connections: 4 });
/** Ids of the same person in the two colleges, according to MDM's crosswalk. */
const [here, there] = ['0318204', 'B00417733'];

/** Secrets without markers: the secrets of the development clients, and access tokens. */
const publicSecrets = /(?:demo|reader|worker|ops)-secret/;
const likeToken = /eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{20,}/g;

/**
 * Returns the first token in a string. The header of an encrypted payload never matches, because the part after it is
 * empty. Other parts of a payload may match by chance, but they are not JSON.
 */
function tokenIn(text: string): string | undefined {
  return text.match(likeToken)?.find((found) => {
    try {
      return 'alg' in (JSON.parse(Buffer.from(found.split('.')[0] as string, 'base64url').toString()) as object);
    } catch {
      return false;
    }
  });
}

/** Tables that may hold unencrypted personal values, according to the security model. */
const documentedTables = rowsOf(
  sectionOf(readPage('docs/explanation/security-model.md'), 'Where personal values are'),
).map(([table = '']) => table);

describe.each([
  ['in plain text', undefined],
  ['encrypted', `e2e-1:${randomBytes(32).toString('base64')}`],
])('payloads %s', (_title, payloadKey) => {
  const markers = createMarkers();
  const { credential, personal } = markers;
  /** Returns the credentials and personal values found in `content`. */
  const found = (content: string | Buffer) => markers.findIn(content);
  const exchanges: Exchange[] = [];
  const executions: string[] = [];
  let sentry: IngestEndpoint;
  let proxy: BreakableProxy;
  let stack: LaunchedStack;
  let token: string;
  let metrics: string;

  beforeAll(async () => {
    [sentry, proxy] = await Promise.all([startIngestEndpoint(), startBreakableProxy(engineUrl)]);
    stack = await launchStack({
      CONDUCTOR_URL: proxy.url,
      SENTRY_DSN: sentry.dsn,
      LOG_LEVEL: 'trace',
      WORKERS_BACKENDTIMEOUTMS: '6000',
      WORKERS_POLLTIMEOUTMS: '1000',
      ...(payloadKey === undefined ? {} : { PAYLOAD_KEY: payloadKey }),
    });
    token = await tokenOf(stack.url);
    await provokeExecutions();
    // Encryption makes no difference to requests that never reach an execution.
    if (payloadKey === undefined) {
      exchanges.push(...(await provokeRefusals(stack.url, token, markers)));
      await provokeOutage();
    }
    await provokeUnforeseen();
    metrics = (await call(`${stack.operationsUrl}/metrics`)).text;
  });
  afterAll(async () => {
    await stack?.stop();
    await Promise.all([sentry?.close(), proxy?.stop()]);
  });

  /** Sends a request with a valid token and marked headers, and records the exchange and its execution. */
  async function ask(what: string, path: string, { method = 'GET', ...options }: CallOptions = {}): Promise<Exchange> {
    const headers = {
      authorization: `bearer ${token}`,
      cookie: `sid=${credential('session')}`,
      'user-agent': personal('agent'),
      'if-none-match': `"${personal('etag')}"`,
      ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
    };
    const answer = await call(`${stack.url}${path}`, {
      method,
      ...options,
      headers: { ...headers, ...options.headers },
    });
    const executionId = answer.headers['x-execution-id'] ?? executionIn(answer.text);
    if (typeof executionId === 'string') executions.push(executionId);
    const exchange = { what, answer };
    exchanges.push(exchange);
    return exchange;
  }

  async function provokeExecutions(): Promise<void> {
    const echo = `/adaptor/001/mock/echo/${personal('path')}?name=${personal('query')}`;
    const body = JSON.stringify({ sisPersonId: personal('id'), cccid: personal('cccid'), lastName: personal('name') });
    const faults = '/adaptor/001/mock/faults';
    await Promise.all([
      ask('a read', echo),
      ask('a write', echo, { method: 'POST', body }),
      ask('a movie', `/movies/${personal('title')}`),
      ask('an unknown person', `/adaptor/001/mock/colleges/001/persons/${personal('id')}`),
      ask('broken JSON', `/adaptor/001/mock/colleges/001/persons/${here}`, {
        method: 'PATCH',
        body: `{"${personal('broken')}":`,
      }),
      ...['reset', 'cut', 'bad-header', 'bad-length', 'never', 'html', 'nul'].map((fault) =>
        ask(fault, `${faults}/${fault}?name=${personal('fault')}`, { method: 'PATCH', body }),
      ),
      ...[404, 409, 500].map((status) =>
        ask(`a PATCH answered ${status}`, `${faults}/status/${status}`, { method: 'PATCH', body }),
      ),
      // MDM cannot tell which person this PATCH concerns.
      ask('a PATCH of nobody', `${faults}/status/200`, { method: 'PATCH', body: `"${personal('nobody')}"` }),
    ]);
    await shareWith(personal('shared'));
    const setAvailable = (available: boolean) =>
      call(`${stack.backEndsUrl}/mdm/availability`, {
        method: 'PUT',
        json: { available },
      });
    await setAvailable(false);
    const { answer } = await patchHere(personal('late'));
    const source = String(answer.headers['x-execution-id']);
    await pollUntil('a worker to find MDM unavailable', () =>
      stack.written().get('workers.log')?.includes('MDM responded with status 503'),
    );
    await setAvailable(true);
    await untilShared(source);
  }

  const patchHere = (cccid: string) =>
    ask('a PATCH', `/adaptor/001/mock/colleges/001/persons/${here}`, {
      method: 'PATCH',
      body: JSON.stringify({ cccid }),
    });

  /** Sends a PATCH and waits until the event and two more executions have delivered the change to the other college. */
  async function shareWith(cccid: string): Promise<void> {
    const { answer } = await patchHere(cccid);
    expect(answer.status).toBe(200);
    await untilShared(String(answer.headers['x-execution-id']));
    const person = await call(`${stack.backEndsUrl}/adaptors/002/mock/colleges/002/persons/${there}`);
    expect(person.text).toContain(cccid);
  }

  async function untilShared(source: string): Promise<void> {
    for (const name of ['mdmWF', 'mdm-shareWF']) {
      const { workflowId } = await pollUntil(`${name} of ${source}`, async () =>
        (await startedBy(name, source)).find(({ status }) => status === 'COMPLETED'),
      );
      executions.push(workflowId);
    }
  }

  /** Returns the executions of the workflow `name` that an event of the execution `source` has started. */
  async function startedBy(name: string, source: string): Promise<{ workflowId: string; status: string }[]> {
    const path = `/api/workflow/${name}/correlated/${source}?includeClosed=true`;
    const { body } = await engine.request({ method: 'GET', path });
    return JSON.parse(body.toString('utf8')) as { workflowId: string; status: string }[];
  }

  /** Cuts the connection to the engine while one request is in progress, then sends another request. */
  async function provokeOutage(): Promise<void> {
    const running = ask('a request that loses its engine', `/adaptor/001/mock/faults/slow/5000?n=${personal('lost')}`);
    await pollUntil('the request to reach the back end', async () => {
      const faults = await call(`${stack.backEndsUrl}/adaptors/001/mock/faults`);
      return faults.json<{ open: number }>().open > 0;
    });
    await proxy.cut();
    await ask('a request without an engine', `/movies/${personal('away')}`);
    await proxy.repair();
    await running;
  }

  /** Starts an execution with an input that no router creates, so that a worker fails with an unexpected error. */
  async function provokeUnforeseen(): Promise<void> {
    // This value is not encrypted, because the request does not pass through the router.
    const person = payloadKey === undefined ? personal('unforeseen') : 'nobody';
    // A path cannot contain a lone surrogate.
    const sisPersonId = { json: `"${person}\\ud800"` };
    const executionId = await engine.startWorkflow({
      name: 'mdm-shareWF',
      version: 1,
      input: { misCode: '002', sisPersonId, cccid: 'none', requestId: 'r', sourceExecutionId: 's' },
      taskToDomain: { '*': '002' },
    });
    if (payloadKey === undefined) executions.push(executionId);
    await pollUntil('the error report', () => sentry.events().length > 0);
  }

  it('every kind of request was sent, and each had the intended result', () => {
    const statuses = Object.fromEntries(exchanges.map(({ what, answer }) => [what, answer.status]));
    const problems = exchanges
      .filter(({ answer }) => isOurs(answer))
      .map(({ what, answer }) => `${what}: ${answer.text}`);
    expect(statuses, problems.join('\n')).toMatchObject({
      'a read': 200,
      'a write': 200,
      'an unknown person': 404,
      reset: 502,
      never: 504,
      'a PATCH answered 500': 500,
      'a PATCH': 200,
    });
    expect(exchanges.filter(({ answer }) => answer.text.includes('internal-error'))).toEqual([]);
    expect(executions.length).toBeGreaterThan(15);
    if (payloadKey !== undefined) return;
    expect(statuses).toMatchObject({
      'a text that is no token': 401,
      'a forged token': 401,
      'no token': 401,
      'an unknown path': 404,
      'a body that is too large': 413,
      'a wrong secret': 401,
      'two hosts': 400,
      'headers that are too large': 431,
      'a request without an engine': 503,
    });
  });

  it('no problem document repeats a credential or a personal value', () => {
    const problems = exchanges.filter(({ answer }) => isOurs(answer));
    expect(problems.length).toBeGreaterThan(payloadKey === undefined ? 25 : 4);
    for (const { what, answer } of problems) {
      const written = `${JSON.stringify(answer.headers)}${answer.text}`;
      expect([what, ...found(written), ...leaksOf(written)]).toEqual([what]);
    }
  });

  it('no log line contains a credential or a personal value', () => {
    const written = stack.written();
    expect([...written.keys()]).toEqual(
      expect.arrayContaining(['the launcher', 'router.log', 'workers.log', 'workers-002.log', 'identity-provider.log']),
    );
    expect(written.get('router.log')).toContain('"msg":"response sent"');
    if (databaseUrl === undefined)
      written.set('engine.log', readFileSync(join(engineStateDir, 'logs/engine.log'), 'utf8'));
    for (const [name, text] of written) expect([name, ...found(text), ...leaksOf(text)]).toEqual([name]);
  });

  it('no metric and no error report contains a credential or a personal value', () => {
    expect(metrics).toContain('router_http_requests_total');
    expect([...found(metrics), ...leaksOf(metrics)]).toEqual([]);
    const reports = sentry.envelopes().join('\n');
    expect(sentry.events().length).toBeGreaterThan(0);
    expect([...found(reports), ...leaksOf(reports)]).toEqual([]);
  });

  it('no table or file of the engine contains a credential', async () => {
    const places: [string, string | Buffer][] = [...(await store.tables()), ...store.files()];
    for (const [name, content] of places) {
      const credentials = found(content).filter((marker) => marker.startsWith(credential('')));
      const tokens = content.includes(token) ? ['the token'] : [];
      expect([name, ...credentials, ...tokens, ...leaksOf(content)]).toEqual([name]);
    }
  });

  if (payloadKey === undefined)
    it('personal values are only in the tables that the security model names', async () => {
      const holding = [...(await store.tables())].filter(([, text]) => found(text).length > 0).map(([name]) => name);
      expect(holding.filter((name) => !documentedTables.includes(name))).toEqual([]);
      expect(holding).toEqual(expect.arrayContaining(['workflow', 'task']));
    });

  if (payloadKey === undefined)
    it('removing the executions leaves personal values only in the records of refused events', async () => {
      const started = await Promise.all(
        executions.flatMap((source) => [startedBy('mdmWF', source), startedBy('mdm-shareWF', source)]),
      );
      for (const executionId of new Set([...executions, ...started.flat().map(({ workflowId }) => workflowId)])) {
        const path = `/api/workflow/${executionId}/remove?archiveWorkflow=false`;
        expect((await engine.request({ method: 'DELETE', path })).status).toBe(200);
      }
      // The engine removes the index rows a moment after the execution.
      await pollUntil('only refused events to be left', async () => {
        const left = [...(await store.tables())].filter(([, text]) => found(text).length > 0);
        return left.map(([name]) => name).join() === 'event_execution';
      });
    });

  if (payloadKey !== undefined)
    it('with encryption, no table or file contains a personal value, and every execution is encrypted', async () => {
      for (const [name, content] of [...(await store.tables()), ...store.files()]) {
        expect([name, ...found(content)]).toEqual([name]);
      }
      for (const executionId of executions) {
        const { body } = await engine.request({
          method: 'GET',
          path: `/api/workflow/${executionId}?includeTasks=true`,
        });
        const text = body.toString('utf8');
        expect(text).toContain('"sealed"');
        expect(text).not.toMatch(new RegExp(`${here}|${there}`));
      }
    });

  /** Returns the leaked secrets other than markers, including the payload key of this run. */
  function leaksOf(content: string | Buffer): string[] {
    const text = typeof content === 'string' ? content : content.toString('latin1');
    const leaks = [publicSecrets.exec(text)?.[0], tokenIn(text)];
    const key = payloadKey?.split(':')[1] ?? 'no key';
    return [...leaks, text.includes(key) ? 'payload.key' : undefined].filter((leak) => leak !== undefined);
  }
});

/** Returns true for the router's own responses: problem documents and errors of the token path. */
function isOurs({ status, headers, text }: Exchange['answer']): boolean {
  const type = String(headers['content-type'] ?? '');
  return status >= 400 && (type === 'application/problem+json' || type === '' || text.includes('"error"'));
}

const executionIn = (text: string): string | undefined => /"executionId":"([^"]+)"/.exec(text)?.[1];
