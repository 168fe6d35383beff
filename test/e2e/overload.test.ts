// Tests of overload, hanging back ends and an unavailable engine: requests that cannot be served are rejected quickly,
// and other requests are not affected.

import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type BreakableProxy, startBreakableProxy } from '../stack/breakable-proxy.ts';
import { call, type Caller, callerFor, type RouterAnswer } from '../stack/client.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { readCounts } from '../stack/metrics.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack, untilReady } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

/** Open responses of college 777's adaptor, which holds every request until `letGo` is called. */
const held: ServerResponse[] = [];
const holding = createServer((_request, response) => void held.push(response));
const letGo = () => held.splice(0).forEach((response) => response.end('let go'));
/** Port of college 778's adaptor; the adaptor is unavailable until it starts to listen here. */
let awayPort: number;
const away = createServer((_request, response) => void response.end('back'));

let engine: BreakableProxy;
let stack: Stack;
let demo: Caller;
let ops: Caller;

const listen = async (server: Server, port = 0): Promise<number> => {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as { port: number }).port;
};

beforeAll(async () => {
  awayPort = await findFreePort();
  engine = await startBreakableProxy(engineOfRun().url);
  stack = await shareStack({
    engineUrl: engine.url,
    router: {
      // Eight requests in flight, at most four for one back end; four in the queue, at most two for one back end.
      ADMISSION_MINLIMIT: '8',
      ADMISSION_INITIALLIMIT: '8',
      ADMISSION_MAXLIMIT: '8',
      ADMISSION_MAXINFLIGHT: '8',
      ADMISSION_QUEUELENGTH: '4',
      // Queued requests must not time out before the checks end, even on a busy machine.
      ADMISSION_QUEUEMS: '60000',
      ROUTER_RESPONSEDEADLINEMS: '60000',
      ADMISSION_BACKENDSHAREPERCENT: '50',
      BREAKER_BACKEND_MINCALLS: '4',
      // Longer than one request takes on a busy machine.
      BREAKER_BACKEND_OPENMS: '3000',
      BREAKER_ENGINE_MINCALLS: '4',
      BREAKER_ENGINE_WINDOWMS: '2000',
      BREAKER_ENGINE_OPENMS: '300',
      'client.reader.misCodes': '001',
    },
    workers: {
      WORKERS_BACKENDTIMEOUTMS: '60000',
      ADAPTOR_777_URL: `http://127.0.0.1:${await listen(holding)}`,
      ADAPTOR_778_URL: `http://127.0.0.1:${awayPort}`,
    },
  });
  demo = await callerFor(stack.url);
  ops = await callerFor(stack.url, 'ops');
});
afterAll(async () => {
  letGo();
  await engine?.repair();
  await stack?.stop();
  await engine?.stop();
  for (const server of [holding, away]) {
    server.closeAllConnections();
    server.close();
  }
});

const metric = async (name: string): Promise<number | undefined> => (await readCounts(stack.operationsUrl))[name];

const stateOf = (breaker: string) => metric(`router_breaker_state{breaker="${breaker}"}`);
const changesOf = (breaker: string, to: string) =>
  metric(`router_breaker_transitions_total{breaker="${breaker}",to="${to}"}`);

function expectRefusal(answer: RouterAnswer, code: string): void {
  expect(answer.json()).toMatchObject({ type: `/problems/${code}`, status: 503 });
  expect(answer.status).toBe(503);
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  expect(answer.headers['x-execution-id']).toBeUndefined();
}

describe('a back end that holds its requests', () => {
  it('gets no more requests once its permits and queue positions are taken; others are served', async () => {
    const inFlight = Array.from({ length: 4 }, () => demo('/adaptor/777/x'));
    await pollUntil('four requests to reach the back end', () => held.length === 4);
    const queued = Array.from({ length: 2 }, () => demo('/adaptor/777/x'));
    await pollUntil('two requests to wait', async () => (await metric('router_admission_queued')) === 2);

    // These requests are rejected at once, although no request in flight makes progress and the body is not read.
    for (const options of [{}, { method: 'PATCH', body: 'x'.repeat(100_000) }])
      expectRefusal(await demo('/adaptor/777/x', options), 'overloaded');
    // Such requests are rejected before the pipeline runs. A request that would be rejected for another reason still
    // gets the response for that reason.
    expect((await call(`${stack.url}/adaptor/777/x`)).status).toBe(401);
    const reader = await callerFor(stack.url, 'reader');
    for (const options of [{}, { method: 'PATCH', body: 'x' }])
      expect((await reader('/adaptor/777/x', options)).status).toBe(403);
    expect(await metric('router_admission_executions{class="read",stage="with_worker"}')).toBe(4);
    expect(await metric('router_admission_requests_total{class="write",outcome="full"}')).toBe(1);
    expect(held).toHaveLength(4);

    // Workers' polls and reports, health checks and operators are not affected.
    expect((await demo('/movies/seven%20samurai')).status).toBe(200);
    expect((await demo('/adaptor/001/mock/echo', { method: 'POST', body: 'x' })).status).toBe(200);
    expect((await call(`${stack.operationsUrl}/health/ready`)).status).toBe(200);
    expect((await ops('/conductor/api/metadata/workflow/moviesWF?version=1')).status).toBe(200);

    letGo();
    await pollUntil('the queued requests to reach the back end', () => held.length === 2);
    letGo();
    const answers = await Promise.all([...inFlight, ...queued]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(await metric('router_admission_executions{class="read",stage="with_worker"}')).toBe(0);
  });

  it('a request leaves the queue when its client disconnects', async () => {
    const inFlight = Array.from({ length: 4 }, () => demo('/adaptor/777/x'));
    await pollUntil('four requests to reach the back end', () => held.length === 4);
    const leaving = new AbortController();
    const gone = demo('/adaptor/777/x', { signal: leaving.signal }).catch(() => 'gone');
    await pollUntil('the request to wait', async () => (await metric('router_admission_queued')) === 1);
    leaving.abort();
    expect(await gone).toBe('gone');
    await pollUntil('the queue to be empty', async () => (await metric('router_admission_queued')) === 0);
    letGo();
    expect((await Promise.all(inFlight)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });
});

describe('clients that disconnect while their execution is being started', () => {
  const taken = async () => {
    const counts = await readCounts(stack.operationsUrl);
    const of = (stage: string) =>
      ['read', 'write'].map((name) => counts[`router_admission_executions{class="${name}",stage="${stage}"}`] ?? 0);
    return { waiting: of('waiting'), withWorker: of('with_worker') };
  };
  const gone = async () => {
    const counts = await readCounts(stack.operationsUrl);
    const series = Object.entries(counts).filter(([name]) => /^router_http_requests_total.*status="499"/.test(name));
    return series.reduce((sum, [, count]) => sum + count, 0);
  };

  /**
   * Returns the running executions, directly from the engine. A client that disconnects before the router has sent the
   * start has no execution.
   */
  const running = async () =>
    (await call(`${engineOfRun().url}/api/workflow/running/college-adaptorWF`)).json<readonly string[]>();
  afterEach(() => engine.thaw());

  it.each([
    ['reads', {}],
    ['writes', { method: 'POST', body: 'x' }],
    ['writes that ask for 202', { method: 'POST', body: 'x', headers: { prefer: 'respond-async' } }],
  ])('%s: keep their permits until the engine has responded, and release them once', async (_name, options) => {
    const before = await gone();
    const earlier = new Set(await running());
    const leaving = new AbortController();
    engine.freezeAnswers();
    const clients = Array.from({ length: 4 }, () =>
      demo('/adaptor/001/mock/echo', { ...options, signal: leaving.signal }).catch(() => 'gone'),
    );
    await pollUntil('the starts to be in progress', async () => {
      const { waiting } = await taken();
      return waiting[0]! + waiting[1]! === 4 && (await running()).filter((id) => !earlier.has(id)).length === 4;
    });
    leaving.abort();
    await Promise.all(clients);
    await pollUntil('the router to notice', async () => (await gone()) === before + 4);
    const { waiting } = await taken();
    expect(waiting[0]! + waiting[1]!).toBe(4);
    engine.thaw();
    await pollUntil('all permits to be released', async () => {
      const { waiting, withWorker } = await taken();
      return [...waiting, ...withWorker].every((count) => count === 0);
    });
    // The tasks are completed by workers or cancelled, and no permit is released twice.
    expect((await demo('/adaptor/001/mock/echo')).status).toBe(200);
    expect(await taken()).toEqual({ waiting: [0, 0], withWorker: [0, 0] });
  });
});

describe('a back end that cannot be reached', () => {
  const path = '/adaptor/778/x';

  it('its circuit breaker opens, is shown, affects no other back end, admits probes, and closes again', async () => {
    for (let index = 0; index < 4; index++) expect((await demo(path)).status).toBe(502);
    expectRefusal(await demo(path), 'back-end-unavailable');
    expect(await stateOf('adaptor 778')).toBeGreaterThan(0);
    const ready = await call(`${stack.operationsUrl}/health/ready`);
    expect(ready.status).toBe(200);
    expect(ready.json()).toMatchObject({
      notices: { 'back-ends': expect.arrayContaining([expect.stringMatching(/^adaptor 778: /)]) },
    });
    expect((await demo('/adaptor/001/mock/echo')).status).toBe(200);

    // A failed probe opens the breaker again.
    await pollUntil('a probe to be sent', async () => (await demo(path)).status === 502);
    expect(await changesOf('adaptor 778', 'open')).toBe(2);
    expectRefusal(await demo(path), 'back-end-unavailable');

    await listen(away, awayPort);
    await pollUntil('the back end to serve again', async () => (await demo(path)).status === 200);
    expect(await stateOf('adaptor 778')).toBe(0);
    expect(await changesOf('adaptor 778', 'closed')).toBe(1);
    expect((await call(`${stack.operationsUrl}/health/ready`)).json()).toMatchObject({ notices: {} });
  });
});

describe('an unreachable engine', () => {
  const film = '/movies/seven%20samurai';

  it('opens its circuit breaker: the router is not ready and refuses requests until the engine is back', async () => {
    await engine.cut();
    await pollUntil('the breaker to open', async () => {
      expectRefusal(await demo(film), 'engine-unavailable');
      return (await stateOf('engine')) === 2;
    });
    expectRefusal(await demo(film), 'engine-unavailable');
    expect(await metric('router_admission_requests_total{class="read",outcome="engine-open"}')).toBeGreaterThan(0);
    const ready = await call(`${stack.operationsUrl}/health/ready`);
    expect(ready.status).toBe(503);
    expect(ready.json()).toMatchObject({ reasons: { 'engine-breaker': [expect.any(String)] } });
    expect((await call(`${stack.url}${film}`)).status).toBe(401);

    await engine.repair();
    // No request arrives in the meantime: the router detects on its own that the engine is back.
    await pollUntil('the breaker to let a probe through', async () => (await stateOf('engine')) === 1);
    expect((await demo(film)).status).toBe(200);
    expect(await stateOf('engine')).toBe(0);
    await untilReady(stack);
  });
});
