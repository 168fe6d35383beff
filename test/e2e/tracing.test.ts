// Tests of traces: one trace leads from the client's `traceparent` through the router, the wait in the engine, the
// worker and the back end to MDM.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMarkers } from '../secrets/markers.ts';
import { call, type Caller, callerFor, type RouterAnswer, tokenOf } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../lib/telemetry/tracing/otlp-receiver.ts';
import { engineOfRun } from './engine-of-run.ts';

let receiver: OtlpReceiver;
let stack: Stack;
let demo: Caller;
let ops: Caller;

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.url}/` };
  const router = { ...traced, ROUTER_TIMINGSCOPE: 'sisdata_W', LOG_LEVEL: 'debug' };
  stack = await shareStack({ engineUrl: engineOfRun().url, router, workers: traced });
  [demo, ops] = await Promise.all([callerFor(stack.url), callerFor(stack.url, 'ops')]);
});
afterAll(async () => {
  await stack?.stop();
  await receiver?.close();
});

const echo = '/adaptor/001/mock/echo/x';
const hex = (bytes: number) => randomBytes(bytes).toString('hex');
const newParent = (flags = '01') => ({ traceId: hex(16), spanId: hex(8), flags });
const headerOf = ({ traceId, spanId, flags }: ReturnType<typeof newParent>) => ({
  traceparent: `00-${traceId}-${spanId}-${flags}`,
});
const spansOf = (traceId: string) => receiver.spans().filter((span) => span.traceId === traceId);

/** Waits until a trace has spans with all of these names, and returns its spans by name. */
async function traceWith(traceId: string, names: readonly string[]) {
  await pollUntil(`the spans ${names.join(', ')}`, () =>
    names.every((name) => spansOf(traceId).some((span) => span.name === name)),
  ).catch((error: Error) => {
    throw new Error(
      `${error.message}; there are ${spansOf(traceId)
        .map(({ name }) => name)
        .join(', ')}`,
    );
  });
  return new Map(spansOf(traceId).map((span) => [span.name, span]));
}

const requestSpans = (
  method: string,
  workflow = 'college-adaptorWF',
  task = 'college-adaptor_intake',
  route = 'adaptor',
) => ({
  server: `${method} ${route}`,
  execute: `execute ${workflow}`,
  start: `start ${workflow}`,
  queue: `queue ${task}`,
  process: `process ${task}`,
  backEnd: method,
  report: `report ${task}`,
});

/** Returns the tree of spans as a map from child to parent, by name. */
function treeOf(spans: ReadonlyMap<string, ReceivedSpan>): Record<string, string> {
  const names = new Map([...spans].map(([name, { spanId }]) => [spanId, name]));
  return Object.fromEntries(
    [...spans].map(([name, { parentSpanId }]) => [name, names.get(parentSpanId) ?? parentSpanId]),
  );
}

const traceparentAtBackEnd = (answer: RouterAnswer) =>
  answer.json<{ headers: Record<string, string> }>().headers['traceparent'];

describe.each([
  ['GET', {}],
  ['POST', { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } }],
])('a %s with a traceparent', (method, options) => {
  it('becomes one trace below the client’s span, and the back end gets a traceparent of this trace', async () => {
    const parent = newParent();
    const answer = await demo(echo, {
      ...options,
      headers: { ...headerOf(parent), ...('headers' in options ? options.headers : {}) },
    });
    expect(answer.status).toBe(200);
    const names = requestSpans(method);
    const spans = await traceWith(parent.traceId, Object.values(names));
    expect(treeOf(spans)).toEqual({
      [names.server]: parent.spanId,
      [names.execute]: names.server,
      [names.start]: names.execute,
      [names.queue]: names.execute,
      [names.report]: names.execute,
      [names.process]: names.execute,
      [names.backEnd]: names.process,
    });
    expect(traceparentAtBackEnd(answer)).toBe(`00-${parent.traceId}-${spans.get(names.backEnd)?.spanId}-01`);
    const services = Object.fromEntries([...spans].map(([name, { service }]) => [name, service]));
    expect(services).toMatchObject({
      [names.server]: 'service-router-router',
      [names.process]: 'service-router-workers',
    });
  });

  it('shows the time and the attributes of each step', async () => {
    const parent = newParent();
    const answer = await demo(echo, {
      ...options,
      headers: { ...headerOf(parent), ...('headers' in options ? options.headers : {}) },
    });
    const names = requestSpans(method);
    const spans = await traceWith(parent.traceId, Object.values(names));
    const executionId = String(answer.headers['x-execution-id']);
    expect(spans.get(names.server)).toMatchObject({
      kind: 2,
      status: 0,
      attributes: {
        'http.request.method': method,
        'http.response.status_code': 200,
        'router.route': 'adaptor',
        'router.request_id': answer.headers['x-request-id'],
        'router.client_id': 'demo',
        'conductor.execution_id': executionId,
      },
    });
    expect(spans.get(names.process)).toMatchObject({ kind: 5, attributes: { 'conductor.execution_id': executionId } });
    expect(spans.get(names.backEnd)).toMatchObject({
      kind: 3,
      attributes: { 'http.response.status_code': 200, 'server.address': '127.0.0.1' },
    });
    const inOrder = [names.server, names.execute, names.start, names.queue, names.report].map(
      (name) => spans.get(name)!.start,
    );
    expect(inOrder).toEqual(inOrder.toSorted((a, b) => (a < b ? -1 : 1)));
    const server = spans.get(names.server)!;
    // The clocks of processes on one machine differ by at most a few milliseconds.
    const slack = 20_000_000n;
    for (const { start, end } of spans.values()) {
      expect(end >= start).toBe(true);
      expect(start >= server.start - slack && end <= server.end + slack).toBe(true);
    }
  });
});

describe('where a trace begins', () => {
  it.each([
    ['without a traceparent', {}],
    ['with a malformed traceparent', { traceparent: '00-nonsense-01' }],
    ['with ids of zeros', { traceparent: `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01` }],
  ])('%s: in the router, as a single trace', async (_title, headers) => {
    const answer = await demo('/movies/Metropolis', { headers });
    const requestId = answer.headers['x-request-id'];
    const root = await pollUntil('the span of the request', () =>
      receiver.spans().find(({ attributes }) => attributes['router.request_id'] === requestId),
    );
    expect(root.parentSpanId).toBe('');
    const names = requestSpans('GET', 'moviesWF', 'movies_intake', 'movies');
    expect(Object.keys(treeOf(await traceWith(root.traceId, Object.values(names)))).toSorted()).toEqual(
      Object.values(names).toSorted(),
    );
  });

  it('a client that does not sample: no span is exported, and the back end gets an unsampled traceparent', async () => {
    const parent = newParent('00');
    const unsampled = await demo(echo, { headers: headerOf(parent) });
    expect(traceparentAtBackEnd(unsampled)).toMatch(new RegExp(`^00-${parent.traceId}-[0-9a-f]{16}-00$`));
    const later = newParent();
    await demo(echo, { headers: headerOf(later) });
    await traceWith(later.traceId, Object.values(requestSpans('GET')));
    expect(spansOf(parent.traceId)).toEqual([]);
  });
});

describe('failures', () => {
  it('a refused request is part of the client’s trace', async () => {
    const parent = newParent();
    await call(`${stack.url}/movies/x`, { headers: headerOf(parent) });
    const spans = await traceWith(parent.traceId, ['GET movies']);
    expect(spans.get('GET movies')).toMatchObject({
      parentSpanId: parent.spanId,
      status: 0,
      attributes: { 'http.response.status_code': 401 },
    });
  });

  it('a back end resets the connection: the failed spans have the error status and the error code', async () => {
    const parent = newParent();
    const answer = await demo('/adaptor/001/mock/faults/reset', {
      method: 'PATCH',
      body: '{}',
      headers: { ...headerOf(parent), 'content-type': 'application/json' },
    });
    expect(answer.status).toBe(502);
    const names = requestSpans('PATCH');
    const spans = await traceWith(parent.traceId, [names.server, names.execute, names.process, names.backEnd]);
    for (const name of [names.server, names.process, names.backEnd])
      expect([name, spans.get(name)?.status]).toEqual([name, 2]);
    expect(spans.get(names.server)?.attributes['error.type']).toBe('back-end-bad-answer');
    expect(spans.get(names.backEnd)?.attributes['error.type']).toBe('back-end-bad-answer');
  });

  it('workers’ polls and reports get no request spans', () => {
    expect(receiver.spans().filter(({ attributes }) => attributes['router.route'] === 'conductor')).toEqual([]);
  });
});

describe('a PATCH', () => {
  it('has a trace that continues through the events to mdm_notify, MDM, mdm_share and the other college', async () => {
    const parent = newParent();
    const answer = await demo('/adaptor/001/mock/colleges/001/persons/0318204', {
      method: 'PATCH',
      headers: { ...headerOf(parent), 'content-type': 'application/json' },
      body: JSON.stringify({ cccid: `T${hex(3).toUpperCase()}` }),
    });
    expect(answer.status).toBe(200);
    // The engine may take a minute to subscribe to the queue of a new handler.
    const spans = await traceWith(parent.traceId, ['process mdm_notify', 'process mdm_share']);
    expect(treeOf(spans)).toMatchObject({
      'process mdm_notify': 'execute college-adaptorWF',
      'process mdm_share': 'execute college-adaptorWF',
    });
    const childrenOf = (name: string) =>
      spansOf(parent.traceId)
        .filter(({ parentSpanId }) => parentSpanId === spans.get(name)?.spanId)
        .map((span) => span.name)
        .toSorted();
    expect(childrenOf('process mdm_notify')).toEqual(['POST']);
    expect(childrenOf('process mdm_share')).toEqual(['PATCH', 'POST']);
    expect(new Set(spansOf(parent.traceId).map(({ service }) => service))).toEqual(
      new Set(['service-router-router', 'service-router-workers']),
    );
  });
});

describe('what a span may contain', () => {
  it('no token, cookie or personal value of any request is in the exported spans', async () => {
    const { credential, personal, findIn } = createMarkers();
    const token = await tokenOf(stack.url);
    const headers = {
      authorization: `Bearer ${token}`,
      cookie: `sid=${credential('session')}`,
      'user-agent': personal('agent'),
      'x-authorization': credential('second'),
      baggage: `user=${personal('baggage')}`,
      tracestate: `a=${personal('state')}`,
      'content-type': 'application/json',
    };
    const ids: string[] = [];
    const ask = async (path: string, method = 'GET', extra: Record<string, string> = {}) => {
      const parent = newParent();
      ids.push(parent.traceId);
      await call(`${stack.url}${path}`, {
        method,
        headers: { ...headers, ...headerOf(parent), ...extra },
        ...(method === 'GET' ? {} : { body: JSON.stringify({ cccid: personal('cccid') }) }),
      });
    };
    await ask(`/adaptor/001/mock/echo/${personal('path')}?q=${personal('query')}`);
    await ask(`/adaptor/001/mock/echo/${personal('path')}`, 'POST');
    await ask(`/adaptor/001/mock/faults/reset?q=${personal('fault')}`, 'PATCH');
    await ask(`/movies/${personal('title')}`, 'GET', { authorization: `Bearer ${credential('token')}` });
    await ask(`/nowhere/${personal('nowhere')}`);
    await pollUntil('a span of each request', () => ids.every((id) => spansOf(id).some(({ kind }) => kind === 2)));
    const sent = receiver.requests
      .map(({ body, path, headers: sentHeaders }) => `${path} ${JSON.stringify(sentHeaders)} ${body}`)
      .join('\n');
    expect(sent).toContain(ids[0]);
    expect(findIn(sent)).toEqual([]);
    expect(sent).not.toMatch(/eyJ[\w-]{10,}/);
    expect(sent).not.toContain(token.slice(-20));
  });
});

describe('Server-Timing and the stages', () => {
  it('a client with the scope gets the times of all stages of its request, which add up to the total', async () => {
    const answer = await demo(echo);
    const durations = Object.fromEntries(
      String(answer.headers['server-timing'])
        .split(', ')
        .map((entry) => entry.split(';dur=') as [string, string])
        .map(([name, ms]) => [name, Number(ms)]),
    );
    expect(Object.keys(durations)).toEqual(expect.arrayContaining(['router', 'engine', 'back_end', 'total']));
    const { total = 0, ...parts } = durations;
    const sum = Object.values(parts).reduce((all, ms) => all + ms, 0);
    expect(Math.abs(sum - total)).toBeLessThan(0.5);
  });

  it('there is no Server-Timing without the scope, nor for a request that starts no execution', async () => {
    const reader = await callerFor(stack.url, 'reader');
    expect((await reader('/movies/Metropolis')).headers['server-timing']).toBeUndefined();
    expect((await demo('/nowhere')).headers['server-timing']).toBeUndefined();
  });

  it('the time of a slow back end counts as `back_end` time, not as `worker` time', async () => {
    const answer = await demo('/adaptor/001/mock/faults/slow/5000');
    const timing = String(answer.headers['server-timing']);
    expect(Number(/back_end;dur=([\d.]+)/.exec(timing)?.[1])).toBeGreaterThanOrEqual(4_990);
    expect(Number(/worker;dur=([\d.]+)/.exec(timing)?.[1] ?? 0)).toBeLessThan(4_990);
  });

  it('a failed request has Server-Timing as well', async () => {
    const answer = await demo('/adaptor/001/mock/faults/reset', { method: 'POST', body: '{}' });
    expect([answer.status, String(answer.headers['server-timing'])]).toEqual([
      502,
      expect.stringContaining('back_end;dur='),
    ]);
  });

  it('a read takes two engine calls, as it does without tracing', async () => {
    const calls = async () => {
      const text = (await call(`${stack.operationsUrl}/metrics`)).text;
      const count = (name: string) =>
        Number(new RegExp(`^router_engine_call_seconds_count\\{call="${name}"\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
      return { start: count('start'), report: count('report') };
    };
    await demo('/movies/Metropolis');
    const before = await calls();
    for (let asked = 0; asked < 20; asked++) await demo('/movies/Metropolis');
    const after = await calls();
    expect(after.start - before.start).toBe(20);
    // A fetch of tasks sometimes overtakes a result; the result is then sent again.
    expect(after.report - before.report).toBeGreaterThanOrEqual(20);
    expect(after.report - before.report).toBeLessThan(25);
  });

  it('the metrics count requests by route and stage, and executions by workflow, version and outcome', async () => {
    const text = (await call(`${stack.operationsUrl}/metrics`)).text;
    for (const stage of ['router', 'engine', 'worker', 'back_end'])
      expect(text).toMatch(
        new RegExp(`^router_request_stage_seconds_count\\{route="adaptor",stage="${stage}"\\} [1-9]`, 'm'),
      );
    expect(text).toMatch(
      /^router_executions_total\{workflow="college-adaptorWF",version="2",outcome="answered"\} [1-9]/m,
    );
    expect(text).toMatch(
      /^router_executions_total\{workflow="college-adaptorWF",version="2",outcome="back-end-bad-answer"\} [1-9]/m,
    );
    expect(text).toMatch(/^router_active_clients\{route="adaptor"\} 1$/m);
    expect(text).toMatch(/^router_worker_last_poll_seconds\{task_type="movies_intake",domain=""\} [\d.e-]+$/m);
  });

  it('the times that a worker reports are in the task, but not in the output of the execution', async () => {
    const answer = await demo(echo);
    const path = `/conductor/api/workflow/${String(answer.headers['x-execution-id'])}?includeTasks=true`;
    const execution = (await ops(path)).json<{ tasks: { outputData: object }[]; output: object }>();
    expect(execution.tasks[0]?.outputData).toMatchObject({ timing: { backEndMs: expect.any(Number) } });
    expect(Object.keys(execution.output)).toEqual(['outbound']);
  });
});

describe('with tracing off', () => {
  beforeAll(async () => {
    await stack.stop();
    stack = await shareStack({ engineUrl: engineOfRun().url });
  });

  it('no traceparent is added to the envelope or to the request to the back end', async () => {
    const client = await callerFor(stack.url);
    const operator = await callerFor(stack.url, 'ops');
    const answer = await client(echo, { headers: headerOf(newParent()) });
    expect(traceparentAtBackEnd(answer)).toBeUndefined();
    expect(answer.headers['server-timing']).toBeUndefined();
    const execution = await operator(
      `/conductor/api/workflow/${String(answer.headers['x-execution-id'])}?includeTasks=false`,
    );
    expect(execution.json<{ input: { inbound: object } }>().input.inbound).not.toHaveProperty('traceparent');
  });
});
