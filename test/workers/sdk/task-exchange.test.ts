// Tests of exchanges: tasks that the router delivers again, and task types that had no free capacity for a while.

import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pollUntil } from '../../stack/poll-until.ts';
import { FakeRouter } from '../fake-router.ts';
import { type RawBackEnd, startRawBackEnd } from '../raw-back-end.ts';
import { inboundOf, startedWorkers, type StartedWorkers } from '../started-workers.ts';

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const unavailable = 'HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n';
/** The router holds exchanges for longer than any test takes. */
const held = { 'workers.pollTimeoutMs': 60_000, 'workers.drainMs': 10_000 };

let router: FakeRouter;
let backEnd: RawBackEnd;
/** Returns the response to a request. */
let respond: (request: string) => string | Promise<string>;
let started: StartedWorkers | undefined;

beforeEach(async () => {
  router = await new FakeRouter().start();
  backEnd = await startRawBackEnd((socket, request) => {
    void Promise.resolve(respond(request)).then((response) => socket.write(response));
  });
});
afterEach(async () => {
  const stopped = started?.stop();
  router.letGo();
  await stopped;
  started = undefined;
  await backEnd.stop();
});

async function start(values: Record<string, string | number>): Promise<StartedWorkers> {
  started = await startedWorkers({ ...held, ...values }, { router });
  await pollUntil('a held exchange', () => router.held === 1);
  return started;
}
const requestLines = () => backEnd.requests.map((request) => request.slice(0, request.indexOf(' HTTP/')));

describe('a task that the router delivers again after an IN_PROGRESS result', () => {
  const patch = 'PATCH /adaptor/mock/colleges/002/persons/q2';
  const input = { misCode: '002', sisPersonId: 'q2', cccid: 'CCC1', sourceExecutionId: 'execution-1' };
  let release: () => void;

  beforeEach(() => {
    const released = Promise.withResolvers<string>();
    release = () => released.resolve(ok);
    respond = () => (backEnd.requests.length === 1 ? unavailable : released.promise);
  });
  afterEach(() => release());

  /** Runs the first attempt of a share, then waits for `exchanges` held exchanges. One of them carries the result. */
  async function afterFirstAttempt(concurrency: number, exchanges: number): Promise<StartedWorkers> {
    const { url } = backEnd;
    const urls = { 'adaptor.002.url': `${url}/adaptor`, 'mdm.url': `${url}/mdm` };
    const only = { 'workers.domain': '002', 'workers.taskTypes': 'mdm_share', 'workers.concurrency': concurrency };
    const workers = await start({ ...urls, ...only });
    deliver();
    expect(await router.result('task-1')).toMatchObject({ status: 'IN_PROGRESS' });
    await pollUntil('the held exchanges', () => router.held === exchanges);
    return workers;
  }
  const deliver = () => router.addTask('mdm_share', input, { taskId: 'task-1', domain: '002' });
  /** Waits for the second call, for less time than the router holds an exchange. */
  const secondCall = () => pollUntil('the second call', () => backEnd.requests.length === 2, { timeoutMs: 30_000 });

  /** Stops the workers during the second attempt, and expects the attempt to be finished and reported. */
  async function expectDrain({ program }: StartedWorkers): Promise<void> {
    const stopped = program.stop();
    router.letGo();
    release();
    await stopped;
    expect(requestLines()).toEqual([patch, patch, 'POST /mdm/shares']);
    expect(router.results.map(({ status }) => status)).toEqual(['IN_PROGRESS', 'COMPLETED']);
  }

  test('runs when it arrives through the exchange that carried the result, and the drain waits for it', async () => {
    const workers = await afterFirstAttempt(1, 1);
    deliver();
    await secondCall();
    await expectDrain(workers);
  });

  test('runs when it arrives through another exchange, and the drain waits for it', async () => {
    const workers = await afterFirstAttempt(8, 2);
    deliver();
    await secondCall();
    const before = router.calls.length;
    // Ends the exchange that carries the result.
    router.letGo();
    await pollUntil('the next exchange', () => router.calls.length > before);
    await expectDrain(workers);
  });
});

describe('a task type that had no free capacity', () => {
  let release: () => void;
  let movie: string;

  beforeEach(async () => {
    movie = ok;
    const released = Promise.withResolvers<undefined>();
    release = () => released.resolve(undefined);
    respond = (request) => (request.startsWith('GET /movies') ? released.promise.then(() => movie) : ok);
    await start({ 'movies.url': `${backEnd.url}/movies`, 'lmsDW.url': backEnd.url, 'workers.concurrency': 2 });
  });
  afterEach(() => release());

  const addMovie = () => router.addTask('movies_intake', inboundOf({ path: '/Up' }));

  /** Starts as many tasks of the type as may run at once, and waits for an exchange that requests only other types. */
  async function saturate(): Promise<string[]> {
    const ids = [addMovie(), addMovie()];
    await pollUntil('the calls', () => backEnd.requests.length === 2);
    await pollUntil('a held exchange', () => router.held === 1);
    return ids;
  }
  /** Runs a task of another type, after which two exchanges wait for the other types. */
  async function runOtherType(): Promise<void> {
    await router.result(router.addTask('lms-dw_intake', inboundOf({ path: '/7' })));
    await pollUntil('two held exchanges', () => router.held === 2);
  }
  async function end(ids: readonly string[]): Promise<void> {
    release();
    await Promise.all(ids.map((id) => router.result(id)));
  }

  test('is polled as soon as it has free capacity, even if two exchanges wait for other types', async () => {
    const ids = await saturate();
    await runOtherType();
    await end(ids);
    await router.result(addMovie());
  });

  test('is polled as soon as it has free capacity, even if its results are too large for a held exchange', async () => {
    // Random bytes stay large when they are compressed.
    const body = randomBytes(40_000).toString('base64url');
    movie = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    await end(await saturate());
    await router.result(addMovie());
  });

  test('needs only one exchange for a result and the next task once it has capacity again', async () => {
    const ids = await saturate();
    await runOtherType();
    await end(ids);
    await router.result(addMovie());
    const before = router.calls.length;
    for (let task = 0; task < 20; task++) await router.result(addMovie());
    expect(router.calls.length - before).toBeLessThanOrEqual(22);
  });
});
