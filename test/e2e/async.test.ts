// Tests of asynchronous calls: 202 with links, waits chosen by the client, and executions that only their own client
// can see.

import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { Task } from '#lib/conductor/types.ts';
import { call, type Caller, callerFor, type CallOptions, type RouterAnswer } from '../stack/client.ts';
import { type HandWorker, handWorker } from '../stack/hand-worker.ts';
import { readCount, readCounts } from '../stack/metrics.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { byDepth } from '../run/depth.ts';
import { randomOfRun } from '../run/seed.ts';

const engineUrl = engineOfRun().url;
/** Task domain of this file; no worker of another file polls it. */
const domain = `async-${randomBytes(4).toString('hex')}`;
/** Limits that no test reaches; tests that need lower limits use `shortLimits`. */
const limits = { ROUTER_RESPONSEDEADLINEMS: '60000', ROUTER_MAXWAITMS: '20000' };
/** Response deadline of a client without preferences, and the longest wait that a client may request. */
const shortLimits = { ROUTER_RESPONSEDEADLINEMS: '1500', ROUTER_MAXWAITMS: '5000' };

let stack: Stack;
let demo: Caller;
let reader: Caller;
/** The tests act as the workers of the adaptors, and decide when a task is taken. */
let worker: HandWorker;

beforeAll(async () => {
  stack = await shareStack({
    engineUrl,
    withWorkers: false,
    router: {
      ...limits,
      ROUTER_MAXLONGPOLLS: '8',
      ADAPTOR_001_DOMAIN: domain,
    },
  });
  await meet();
});
afterAll(() => stack?.stop());

async function meet(): Promise<void> {
  demo = await callerFor(stack.url);
  reader = await callerFor(stack.url, 'reader');
  worker = await handWorker(stack.url, 'college-adaptor_intake', domain);
}

const person = '/adaptor/001/mock/colleges/001/persons/0320991';
/** A path for which the OpenAPI document allows any response, because the tests do not respond with a person. */
const note = '/adaptor/001/mock/colleges/001/notes/0320991';
const change = { method: 'PATCH', headers: { 'content-type': 'application/json' }, body: '{"cccid":"AAA1234"}' };
const prefer = (preference: string, options: CallOptions = change): CallOptions => ({
  ...options,
  headers: { ...options.headers, prefer: preference },
});
const outbound = {
  statusCodeValue: 207,
  headers: { 'content-type': 'text/plain; charset=utf-8', etag: '"1"', 'x-not-allowed': '1' },
  body: 'dóne\n',
};

interface Document {
  id: string;
  state: string;
  links: { self: string; response: string };
}
const typeOf = (answer: RouterAnswer) => answer.json<{ type: string }>().type.replace('/problems/', '');
const stateOf = async (id: string, as = demo) => (await as(`/executions/${id}`)).json<Document>().state;
const metric = (name: string) => readCount(stack.operationsUrl, name);
/** Returns the header fields without those that differ from one exchange to the next. */
const withoutOwn = ({ headers }: RouterAnswer) => {
  const {
    date: _d,
    connection: _c,
    'keep-alive': _k,
    'x-request-id': _r,
    'x-execution-id': _e,
    ratelimit: _l,
    ...rest
  } = headers;
  return rest;
};

async function startLater(options = prefer('respond-async'), path = person): Promise<Document> {
  const accepted = await demo(path, options);
  expect(accepted.status, accepted.text).toBe(202);
  return accepted.json<Document>();
}

async function answerNext(answer: object = outbound): Promise<void> {
  expect((await worker.report(await worker.take(), answer)).status).toBe(200);
}

describe('Prefer: respond-async', () => {
  it('202 at once, with links; the later response equals the synchronous response, byte for byte', async () => {
    const accepted = await demo(person, prefer('respond-async'));
    expect(accepted.status).toBe(202);
    const { id, ...document } = accepted.json<Document>();
    const links = { self: `/executions/${id}`, response: `/executions/${id}/response` };
    expect(document).toMatchObject({ state: 'running', route: 'adaptor', method: 'PATCH', links });
    expect(accepted.headers).toMatchObject({
      location: links.self,
      'retry-after': '1',
      'preference-applied': 'respond-async',
      'x-execution-id': id,
      'cache-control': 'no-store',
    });
    const running = await demo(links.self);
    expect(running.json()).toMatchObject({
      id,
      state: 'running',
      route: 'adaptor',
      startedAt: expect.any(String),
      links,
    });
    expect(running.headers['retry-after']).toBe('1');
    const pending = await demo(links.response);
    expect([pending.status, typeOf(pending), pending.headers['retry-after']]).toEqual([404, 'answer-pending', '1']);
    await answerNext();
    const done = (await demo(links.self)).json();
    expect(done).toMatchObject({ id, state: 'completed', endedAt: expect.any(String), links });
    const later = await demo(links.response);

    const waiting = demo(note, change);
    await answerNext();
    const now = await waiting;
    expect(now).toMatchObject({ status: 207, text: 'dóne\n' });
    expect(later).toMatchObject({ status: now.status, bytes: now.bytes });
    expect(withoutOwn(later)).toEqual(withoutOwn(now));
    expect(later.headers['x-execution-id']).toBe(id);
  });

  it('a problem response keeps its request id and its detail when it is fetched again', async () => {
    const { id, links } = await startLater();
    const task = await worker.take();
    const reasonForIncompletion = 'back-end-timeout: no response within 20000 ms; the change may have been applied';
    await worker.reportAs(task, { status: 'FAILED_WITH_TERMINAL_ERROR', reasonForIncompletion });
    await pollUntil('the execution to end', async () => (await stateOf(id)) === 'failed');
    const first = await demo(links.response);
    expect(first.status).toBe(504);
    expect(first.json()).toMatchObject({ executionId: id, links, detail: reasonForIncompletion.slice(18) });
    expect(first.headers['content-type']).toBe('application/problem+json');
    const { requestId } = (await demo(links.self)).json<{ requestId: string }>();
    expect(first.json()['requestId']).toBe(requestId);
    expect((await demo(links.response)).bytes).toEqual(first.bytes);
  });

  it('defers reads as well; HEAD returns the header fields of the execution document', async () => {
    const { id, links } = await startLater(prefer('respond-async', { method: 'GET' }));
    const head = await demo(links.self, { method: 'HEAD' });
    expect([head.status, head.text, Number(head.headers['content-length']) > 100]).toEqual([200, '', true]);
    await answerNext();
    await pollUntil('the execution to end', async () => (await stateOf(id)) === 'completed');
    expect((await demo(links.response)).text).toBe('dóne\n');
  });

  it('an execution holds its admission permit until it has ended', async () => {
    const { id } = await startLater();
    expect(await metric('router_async_executions')).toBe(1);
    await answerNext();
    await pollUntil('the permit to be released', async () => (await metric('router_async_executions')) === 0);
    expect(await stateOf(id)).toBe('completed');
    expect(await metric('router_completion_waiters')).toBe(0);
  });

  it('preferences for the router do not reach the back end; other preferences do', async () => {
    await startLater(prefer('return=minimal, Respond-Async, wait=0 ,handling="a, b"'));
    const task = await worker.take();
    const { headers } = (task.inputData as { inbound: { headers: Record<string, string> } }).inbound;
    if (process.env['TEST_PAYLOAD_KEY'] === undefined)
      expect(headers['prefer']).toBe('return=minimal, handling="a, b"');
    await worker.report(task, outbound);
  });
});

describe('Prefer: wait', () => {
  it('shorter than the default: 202 at the end of the wait, and the execution continues', async () => {
    const startedAt = performance.now();
    const accepted = await demo(person, prefer('wait=1', { method: 'GET' }));
    expect(accepted).toMatchObject({ status: 202, headers: { 'preference-applied': 'wait=1' } });
    expect(performance.now() - startedAt).toBeGreaterThan(950);
    expect(performance.now() - startedAt).toBeLessThan(Number(limits.ROUTER_RESPONSEDEADLINEMS));
    const { id, links } = accepted.json<Document>();
    expect(await stateOf(id)).toBe('running');
    await answerNext();
    expect((await demo(links.response, prefer('wait=20', {}))).text).toBe('dóne\n');
  });

  it('of 0: 202 at once', async () => {
    const accepted = await demo(person, prefer('wait=0'));
    expect(accepted).toMatchObject({ status: 202, headers: { 'preference-applied': 'wait=0' } });
    await answerNext();
  });

  it.each([
    ...[
      ';',
      ',,,',
      '=',
      'wait',
      'wait=',
      'wait=-1',
      'wait=1.5',
      'wait=ten',
      'wait=1s',
      'wait=0x1',
      '"wait=1',
      'wait="1',
    ],
    ...['respond-async=yes', 'respond-async-please', '"respond-async"', 'wait=a, wait=0', 'x="respond-async, wait=0'],
    ...['wait 0', 'respond-async respond-async', '\\', 'wait=\u00e9'],
  ])('%j is ignored (RFC 7240 section 2)', async (preference) => {
    const waiting = demo(note, prefer(preference));
    await answerNext();
    expect(await waiting).toMatchObject({ status: 207 });
  });
});

it('a Prefer header of 8 KB is ignored', async () => {
  const waiting = demo(note, prefer('x'.repeat(8_000)));
  await answerNext();
  expect(await waiting).toMatchObject({ status: 207 });
});

describe('GET /executions/{id} with Prefer: wait', () => {
  it('responds when the execution ends, to several requests at once and to the synchronous client', async () => {
    const synchronous = demo(note, prefer('wait=20'));
    const task = await worker.take();
    const path = `/executions/${task.workflowInstanceId}`;
    const polls = [1, 2, 3].map(() => demo(path, prefer('wait=20', {})));
    await pollUntil('all long polls to wait', async () => (await metric('router_long_polls')) === 3);
    const reportedAt = performance.now();
    await worker.report(task, outbound);
    for (const poll of polls) {
      const answer = await poll;
      expect(answer.json()).toMatchObject({ state: 'completed' });
      expect(answer.headers['preference-applied']).toBe('wait=20');
      expect(answer.headers['retry-after']).toBeUndefined();
    }
    expect(await synchronous).toMatchObject({ status: 207 });
    expect(performance.now() - reportedAt, 'long before the wait is over').toBeLessThan(15_000);
  });

  it('returns the current document with Retry-After when the wait ends before the execution', async () => {
    const { links } = await startLater();
    const answer = await demo(links.self, prefer('wait=1', {}));
    expect(answer).toMatchObject({ status: 200, headers: { 'retry-after': '1', 'preference-applied': 'wait=1' } });
    expect(answer.json()).toMatchObject({ state: 'running' });
    await answerNext();
  });

  it('limits long polls in total and per client, and releases those of clients that disconnect', async () => {
    const { id, links } = await startLater();
    const ofReader = (await reader('/adaptor/001/mock/x', prefer('respond-async', {}))).headers['location'] as string;
    const leave = new AbortController();
    const four = (whose: Caller, path: string) =>
      Array.from({ length: 4 }, () =>
        whose(path, { ...prefer('wait=20', {}), signal: leave.signal }).catch(() => 'gone'),
      );
    const gone = four(demo, links.self);
    await pollUntil('all long polls to wait', async () => (await metric('router_long_polls')) === 4);
    const oneMore = await demo(links.self, prefer('wait=20', {}));
    expect(oneMore.headers['preference-applied'], 'the other half is for other clients').toBeUndefined();
    gone.push(...four(reader, ofReader));
    await pollUntil('the polls of another client to wait', async () => (await metric('router_long_polls')) === 8);
    leave.abort();
    expect(await Promise.all(gone)).toEqual(gone.map(() => 'gone'));
    await pollUntil('no long poll to be left', async () => (await metric('router_long_polls')) === 0);
    await answerNext();
    await answerNext();
    expect((await demo(links.self, prefer('wait=20', {}))).json()).toMatchObject({ id, state: 'completed' });
    await pollUntil('no completion waiter to be left', async () => (await metric('router_completion_waiters')) === 0);
  });
});

describe('DELETE /executions/{id}', () => {
  it('cancels an execution whose task no worker has; a second DELETE returns the same response', async () => {
    const { id, links } = await startLater();
    const cancelled = await demo(links.self, { method: 'DELETE' });
    expect(cancelled).toMatchObject({ status: 200 });
    expect(cancelled.json()).toMatchObject({ id, state: 'cancelled', endedAt: expect.any(String) });
    expect(await worker.poll({ timeoutMs: 500 })).toEqual([]);
    expect((await demo(links.self, { method: 'DELETE' })).json()).toEqual(cancelled.json());
    const response = await demo(links.response);
    expect([response.status, typeOf(response)]).toEqual([409, 'execution-cancelled']);
  });

  it('responds at once to a client that waits for the cancelled execution', async () => {
    const requestId = randomUUID();
    const headers = { ...change.headers, prefer: 'wait=20', 'x-request-id': requestId };
    const waiting = demo(person, { ...change, headers });
    const found = await pollUntil('the execution', async () => {
      const query = encodeURIComponent(`correlationId IN (${requestId})`);
      const rows = await call(`${engineUrl}/api/workflow/search?query=${query}&size=5`);
      return rows.json<{ results: { workflowId: string }[] }>().results[0]?.workflowId;
    });
    expect(await demo(`/executions/${found}`, { method: 'DELETE' })).toMatchObject({ status: 200 });
    const answer = await waiting;
    expect([answer.status, typeOf(answer)]).toEqual([409, 'execution-cancelled']);
  });

  it('returns 409 and changes nothing while a worker has the task and after the execution has ended', async () => {
    const { id, links } = await startLater();
    const task = await worker.take();
    const refused = await demo(links.self, { method: 'DELETE' });
    expect([refused.status, typeOf(refused)]).toEqual([409, 'execution-under-way']);
    expect(refused.json()).toMatchObject({ executionId: id, links });
    await worker.report(task, outbound);
    const late = await demo(links.self, { method: 'DELETE' });
    expect([late.status, typeOf(late)]).toEqual([409, 'execution-ended']);
    expect((await demo(links.response)).status).toBe(207);
  });

  it('the engine shows when an execution was last resumed and keeps the reason for the first termination', async () => {
    const { id } = await startLater();
    const change = (method: string, rest: string) => call(`${engineUrl}/api/workflow/${id}${rest}`, { method });
    const read = async () => (await change('GET', '')).json<WholeExecution>();
    await change('PUT', '/pause');
    expect(await read()).toMatchObject({ status: 'PAUSED', lastRetriedTime: 0 });
    await change('PUT', '/resume');
    await change('DELETE', '?reason=first');
    await change('DELETE', '?reason=second');
    const lastRetriedTime: unknown = expect.toSatisfy((time: number) => time > 0, 'a time');
    expect(await read()).toMatchObject({ status: 'TERMINATED', reasonForIncompletion: 'first', lastRetriedTime });
  });

  it('while a worker takes the task through this or another router: 200 only if no worker gets it', async () => {
    const second = await startProgram('gateway/main.ts', { ...stack.routerEnv });
    const workers = [worker, await handWorker(String(second.ready['url']), 'college-adaptor_intake', domain)];
    const random = randomOfRun();
    const statuses: number[] = [];
    for (let n = 0; n < byDepth(6, 80); n++) {
      const { id, links } = await startLater();
      const taker = workers[n % 2] as HandWorker;
      const take = async () => {
        await pause(random.between(0, 15));
        return taker.poll({ timeoutMs: 100 });
      };
      const cancel = () => demo(links.self, { method: 'DELETE' });
      // The first two executions involve no race, so that every run has both outcomes.
      const early = n === 0 ? await taker.poll({ timeoutMs: 2_000 }) : [];
      const cancelled = n === 1 ? await cancel() : undefined;
      const [answer, tasks] = await Promise.all([cancelled ?? cancel(), n === 0 ? early : take()]);
      const taken = [...tasks];
      while (answer.status !== 200 && taken.length === 0) taken.push(...(await taker.poll({ timeoutMs: 2_000 })));
      statuses.push(answer.status);
      expect(taken.map(({ workflowInstanceId }) => workflowInstanceId)).toEqual(answer.status === 200 ? [] : [id]);
      if (answer.status !== 200) {
        expect([answer.status, typeOf(answer)]).toEqual([409, 'execution-under-way']);
        await worker.report(taken[0] as Task, outbound);
        await pollUntil('the execution to end', async () => (await stateOf(id)) !== 'running');
      }
      expect(await stateOf(id)).toBe(answer.status === 200 ? 'cancelled' : 'completed');
    }
    for (const taker of workers) expect(await taker.poll({ timeoutMs: 300 })).toEqual([]);
    expect(statuses.toSorted()).toEqual(expect.arrayContaining([200, 409]));
    await second.stop();
  });
});

describe('ownership of executions', () => {
  /** Returns a response without the parts that differ from one exchange to the next. */
  const shape = (answer: RouterAnswer) => {
    const { requestId: _, ...document } = answer.json();
    return { status: answer.status, document, headers: withoutOwn(answer) };
  };
  const unknown = '/executions/00000000-0000-4000-8000-000000000000';

  it.each([
    ['GET', ''],
    ['HEAD', ''],
    ['DELETE', ''],
    ['GET', '/response'],
  ])("%s %s: another client's execution gets the same response as an unknown execution", async (method, rest) => {
    const { id } = await startLater();
    const [foreign, absent] = [`/executions/${id}${rest}`, `${unknown}${rest}`];
    if (method === 'HEAD') {
      expect(withoutOwn(await reader(foreign, { method }))).toEqual(withoutOwn(await reader(absent, { method })));
    } else {
      const refused = await reader(foreign, { method });
      expect([refused.status, typeOf(refused), refused.headers['x-execution-id']]).toEqual([
        404,
        'execution-unknown',
        undefined,
      ]);
      expect(shape(refused)).toEqual(shape(await reader(absent, { method })));
    }
    expect(await stateOf(id)).toBe('running');
    await answerNext();
  });

  it("makes the same engine calls for an unknown execution and for another client's", async () => {
    const { id } = await startLater();
    const calls = async () => {
      const counts = Object.entries(await readCounts(stack.operationsUrl));
      const ofCalls = counts.filter(([series]) => series.startsWith('router_engine_call_seconds_count{'));
      return ofCalls.reduce((sum, [, count]) => sum + count, 0);
    };
    const costs: Record<string, number[]> = { [`/executions/${id}`]: [], [unknown]: [] };
    for (let n = 0; n < 10; n++) {
      for (const [path, cost] of Object.entries(costs)) {
        const before = await calls();
        const startedAt = performance.now();
        expect((await reader(path)).status).toBe(404);
        // The response takes at least this long, however quickly the engine responds.
        expect(performance.now() - startedAt).toBeGreaterThanOrEqual(49);
        cost.push((await calls()) - before);
      }
    }
    await answerNext();
    // The router may make calls for its own checks in between.
    expect(Object.values(costs).map((cost) => Math.min(...cost))).toEqual([1, 1]);
  });

  it('returns 404 for executions that no client started, whatever client id their input has', async () => {
    const inbound = { httpMethod: 'GET', path: '/x', params: {}, headers: {}, requestId: 'r', clientId: 'demo' };
    const start = async (name: string, input: object) => {
      const body = JSON.stringify({ name, version: 1, input, taskToDomain: { '*': 'nobody' } });
      const headers = { 'content-type': 'application/json' };
      return (await call(`${engineUrl}/api/workflow`, { method: 'POST', headers, body })).text;
    };
    const mine = await start('moviesWF', { inbound: { ...inbound, route: 'movies' } });
    expect((await demo(`/executions/${mine}`)).status).toBe(200);
    const others = [
      await start('mdmWF', { inbound: { ...inbound, route: 'adaptor' } }),
      await start('mdm-shareWF', { inbound: { ...inbound, route: 'adaptor' } }),
      await start('moviesWF', { inbound: { ...inbound, route: 'reconciler' } }),
      await start('moviesWF', {}),
    ];
    for (const id of others) {
      for (const method of ['GET', 'DELETE']) expect((await demo(`/executions/${id}`, { method })).status).toBe(404);
    }
    for (const id of [mine, ...others]) await call(`${engineUrl}/api/workflow/${id}`, { method: 'DELETE' });
  });

  it.each([
    'x',
    '..',
    '%2e%2e',
    '%00',
    "'",
    '0'.repeat(10_000),
    '00000000-0000-4000-8000-00000000000G',
    '%F0%9F%92%A9',
  ])('/executions/%s → 400 or 404', async (id) => {
    for (const rest of ['', '/response']) expect([400, 404]).toContain((await demo(`/executions/${id}${rest}`)).status);
  });

  it('an id of 10 KB → 404', async () => {
    expect((await demo(`/executions/${'0'.repeat(10_000)}`)).status).toBe(404);
  });

  it('no token → 401; any valid token → 404 for an unknown execution; other methods → 405', async () => {
    expect((await call(`${stack.url}${unknown}`)).status).toBe(401);
    for (const client of ['demo', 'reader', 'worker', 'ops'])
      expect((await (await callerFor(stack.url, client))(unknown)).status).toBe(404);
    expect(await demo(unknown, { method: 'PUT' })).toMatchObject({ status: 405 });
    expect(await demo(`${unknown}/response`, { method: 'DELETE' })).toMatchObject({ status: 405 });
  });
});

describe('with short limits', () => {
  beforeAll(async () => {
    await stack.router.stop();
    await stack.restartRouter(shortLimits);
    await meet();
  });

  it('a wait longer than the default: the response, if it arrives in time', async () => {
    const waiting = demo(note, prefer('respond-async, wait=5'));
    const task = await worker.take();
    await pause(Number(shortLimits.ROUTER_RESPONSEDEADLINEMS) + 300);
    await worker.report(task, outbound);
    expect(await waiting).toMatchObject({ status: 207, text: 'dóne\n' });
  });

  it('a wait longer than the maximum: 202 at the maximum, which Preference-Applied names', async () => {
    const accepted = await demo(person, prefer('wait=99999999999999999999'));
    expect(accepted).toMatchObject({ status: 202, headers: { 'preference-applied': 'wait=5' } });
    await answerNext();
  });

  it('a synchronous 504 on a write has the links to the outcome of the execution', async () => {
    const spent = await demo(person, change);
    expect([spent.status, typeOf(spent)]).toEqual([504, 'wait-budget-spent']);
    const { links, executionId } = spent.json<{ links: Document['links']; executionId: string }>();
    expect(links).toEqual({ self: `/executions/${executionId}`, response: `/executions/${executionId}/response` });
    expect(await stateOf(executionId)).toBe('running');
    await answerNext();
    expect(await demo(links.response)).toMatchObject({ status: 207, text: 'dóne\n' });
  });

  it('a synchronous 504 on a read has no links; reading the response later gives the same 504', async () => {
    const spent = await demo(person);
    expect(spent.status).toBe(504);
    const { executionId, links } = spent.json<{ executionId: string; links?: object }>();
    expect(links).toBeUndefined();
    const again = await pollUntil('the execution to end', async () => {
      const answer = await demo(`/executions/${executionId}/response`);
      return answer.status !== 404 && answer;
    });
    expect(again).toMatchObject({ status: 504, text: spent.text });
  });
});

describe('routers that are killed or stopped', () => {
  it('killed between the 202 and the result: the next router returns the response', async () => {
    const { id, links } = await startLater();
    await stack.router.kill();
    await stack.restartRouter();
    await meet();
    expect(await stateOf(id)).toBe('running');
    const waiting = demo(links.self, prefer('wait=20', {}));
    await answerNext();
    expect((await waiting).json()).toMatchObject({ state: 'completed' });
    expect(await demo(links.response)).toMatchObject({ status: 207, text: 'dóne\n' });
  });

  describe('a second router on the same engine', () => {
    let second: Program;
    let atSecond: Caller;
    beforeAll(async () => {
      second = await startProgram('gateway/main.ts', { ...stack.routerEnv });
      atSecond = await callerFor(String(second.ready['url']));
    });
    afterAll(() => second?.stop());

    it('shows, awaits and cancels executions that the first router started, and returns their responses', async () => {
      const { id, links } = await startLater();
      const waiting = atSecond(links.self, prefer('wait=20', {}));
      await answerNext();
      expect((await waiting).json()).toMatchObject({ id, state: 'completed' });
      expect(await atSecond(links.response)).toMatchObject({ status: 207, text: 'dóne\n' });
      const other = await startLater();
      expect((await atSecond(other.links.self, { method: 'DELETE' })).json()).toMatchObject({ state: 'cancelled' });
      expect(await stateOf(other.id)).toBe('cancelled');
    });
  });

  it('SIGTERM: responds at once to clients that can fetch the response later, and the execution continues', async () => {
    const accepted = demo(person, prefer('wait=20'));
    const task = await worker.take();
    const watching = demo(`/executions/${task.workflowInstanceId}`, prefer('wait=20', {}));
    await pollUntil('the long poll to wait', async () => (await metric('router_long_polls')) === 1);
    const startedAt = performance.now();
    const stopped = stack.router.stop();
    expect(await accepted).toMatchObject({ status: 202 });
    expect((await watching).json()).toMatchObject({ state: 'running' });
    expect(await stopped).toBe(0);
    expect(performance.now() - startedAt, 'long before the wait is over').toBeLessThan(12_000);
    await stack.restartRouter();
    await meet();
    expect((await worker.report(task, outbound)).status).toBe(200);
    expect((await demo(`/executions/${task.workflowInstanceId}/response`)).status).toBe(207);
  });
});
