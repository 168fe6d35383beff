// Tests of stopping workers: no polled task is lost, no further poll starts, and the drain ends in time.

import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { pollUntil } from '../stack/poll-until.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { FakeRouter, type SeenCall } from './fake-router.ts';
import { type RawBackEnd, startRawBackEnd } from './raw-back-end.ts';
import { inboundOf, startedWorkers, type StartedWorkers } from './started-workers.ts';

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const isPoll = ({ wanted }: SeenCall) => wanted.length > 0;
const isUpdate = ({ results }: SeenCall) => results.length > 0;

let router: FakeRouter;
/** Responds when `release` is called. */
let backEnd: RawBackEnd;
let release: () => void;
let started: StartedWorkers | undefined;
let program: Program | undefined;

beforeEach(async () => {
  router = await new FakeRouter().start();
  const released = Promise.withResolvers<undefined>();
  release = () => released.resolve(undefined);
  backEnd = await startRawBackEnd((socket) => void released.promise.then(() => socket.write(answer)));
});
afterEach(async () => {
  release();
  router.interfere = () => undefined;
  await program?.kill();
  program = undefined;
  await started?.stop();
  started = undefined;
  await router.stop();
  await backEnd.stop();
});

async function start(values: Record<string, string | number> = {}): Promise<StartedWorkers> {
  const only = { 'movies.url': backEnd.url, 'workers.taskTypes': 'movies_intake', 'workers.pollTimeoutMs': 600 };
  started = await startedWorkers({ ...only, ...values }, { router });
  await pollUntil('a held exchange', () => router.held === 1);
  return started;
}
const addMovie = () => router.addTask('movies_intake', inboundOf({ path: '/Up' }));
const calledBackEnd = () => pollUntil('the call to the back end', () => backEnd.requests.length === 1);

/** Writes a gateway with a worker that causes an unhandled rejection while its own call is in flight. */
function writeGateway(dir: string): void {
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  writeFileSync(join(dir, 'gateway.config.yml'), '');
  mkdirSync(join(dir, 'config'));
  writeFileSync(join(dir, 'config/default.properties'), '');
  mkdirSync(join(dir, 'workers'));
  writeFileSync(
    join(dir, 'workers/index.ts'),
    `const execute = async ({ inputData }) => {
  const called = fetch(inputData.url);
  void Promise.reject(new Error('stray'));
  return { status: 'COMPLETED', outputData: { status: (await called).status } };
};
export const workers = { stray: { create: () => ({ taskDefName: 'stray', execute }), pools: ['default'] } };
`,
  );
}

describe('stop', () => {
  test('waits for the open poll of an idle worker to end, and does not poll again', async () => {
    const { program: running } = await start();
    const polls = router.calls.filter(isPoll).length;
    await running.stop();
    expect(router.calls.filter(isPoll)).toHaveLength(polls);
  });

  test('ends at once when the router releases held polls', async () => {
    const { program: running } = await start({ 'workers.pollTimeoutMs': 60_000 });
    const stopped = running.stop();
    router.letGo();
    await stopped;
  });

  test('ends at once when the router cannot be reached', async () => {
    const { program: running, lines } = await start({ 'workers.pollTimeoutMs': 60_000 });
    await router.stop();
    await pollUntil('the outage', () => lines.some(({ msg }) => /cannot be reached/.test(String(msg))));
    await running.stop();
  });

  test('finishes and reports in-flight tasks first', async () => {
    const { program: running } = await start();
    const taskId = addMovie();
    await calledBackEnd();
    const stopped = running.stop();
    release();
    await stopped;
    expect(router.results.map((result) => result.taskId)).toEqual([taskId]);
  });

  test('runs a task that the open poll returns during the drain', async () => {
    const { program: running } = await start();
    const stopped = running.stop();
    release();
    const taskId = addMovie();
    await stopped;
    expect(router.results).toMatchObject([{ taskId, status: 'COMPLETED' }]);
  });

  test('leaves tasks with the router when the worker has no capacity', async () => {
    const { program: running } = await start({ 'workers.concurrency': 1 });
    const first = addMovie();
    await calledBackEnd();
    const second = addMovie();
    const stopped = running.stop();
    release();
    await stopped;
    expect(router.results.map(({ taskId }) => taskId)).toEqual([first]);
    const next = await startedWorkers({ 'movies.url': backEnd.url, 'workers.taskTypes': 'movies_intake' }, { router });
    await router.result(second);
    await next.program.stop();
  });

  test('ends only after it has reported a result that is rejected at first', async () => {
    const { program: running } = await start();
    const taskId = addMovie();
    await calledBackEnd();
    let refused = 0;
    router.interfere = (call) => (isUpdate(call) && (refused += 1) < 4 ? { status: 503 } : undefined);
    const stopped = running.stop();
    release();
    await stopped;
    expect(router.results.map((result) => result.taskId)).toEqual([taskId]);
  });

  test('ends only after it has reported a failure in place of a permanently rejected result', async () => {
    // With a concurrency of 1, there is no open poll for the drain to wait for.
    const { program: running } = await start({ 'workers.concurrency': 1 });
    const taskId = addMovie();
    await calledBackEnd();
    const isCompleted = ({ results }: SeenCall) => results.some(({ status }) => status === 'COMPLETED');
    router.interfere = (call) => (isCompleted(call) ? { status: 413 } : undefined);
    const stopped = running.stop();
    release();
    await stopped;
    expect(router.results).toMatchObject([{ taskId, status: 'FAILED_WITH_TERMINAL_ERROR' }]);
  });

  test('abandons tasks after workers.drainMs and logs their number', async () => {
    const { program: running, lines } = await start({ 'workers.drainMs': 300 });
    addMovie();
    await calledBackEnd();
    const startedAt = performance.now();
    await running.stop();
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    expect(lines.filter(({ msg }) => /in-flight tasks/.test(String(msg)))).toMatchObject([{ tasks: 1 }]);
  });

  test('abandons a result that is not accepted within workers.drainMs, and logs this', async () => {
    const { program: running, lines } = await start({ 'workers.drainMs': 300 });
    addMovie();
    await calledBackEnd();
    router.interfere = (call) => (isUpdate(call) ? 'hang' : undefined);
    release();
    await pollUntil('the update', () => router.calls.some(isUpdate));
    await running.stop();
    await pollUntil('the log line', () => lines.some(({ msg }) => /did not accept a result/.test(String(msg))));
  });
});

describe('the process', () => {
  const environment = () => ({
    CONDUCTOR_APIURL: router.apiURL,
    WORKERS_CLIENTID: 'worker',
    WORKERS_CLIENTSECRET: 'worker-secret',
    WORKERS_TASKTYPES: 'movies_intake',
    WORKERS_POLLTIMEOUTMS: '500',
    MOVIES_URL: backEnd.url,
    CI: 'true',
  });

  test('reports an in-flight task after SIGTERM, exits with 0 and logs only JSON', async () => {
    program = await startProgram('workers/main.ts', environment());
    expect(program.ready).toMatchObject({ taskTypes: ['movies_intake'] });
    const taskId = addMovie();
    await calledBackEnd();
    const stopped = program.stop();
    release();
    expect(await stopped).toBe(0);
    expect(router.results.map((result) => result.taskId)).toEqual([taskId]);
    const lines = program.output().trim().split('\n');
    for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
    expect(lines.filter((line) => line.includes('"taskType":"movies_intake"'))).toHaveLength(1);
    expect(program.output()).not.toMatch(/worker-secret/);
  });

  test('reports in-flight tasks after an unhandled rejection, and exits with 1', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'service-router-stray-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    writeGateway(dir);
    const env = { ...environment(), WORKERS_TASKTYPES: 'stray' };
    program = await startProgram('workers/main.ts', env, dir);
    const ended = once(program.process, 'close');
    const taskId = router.addTask('stray', { url: backEnd.url });
    await calledBackEnd();
    await pollUntil('the stop', () => program?.output().includes('"stopping"'));
    release();
    expect(await ended).toEqual([1, null]);
    expect(router.results).toMatchObject([{ taskId, status: 'COMPLETED', outputData: { status: 200 } }]);
    expect(program.output()).toMatch(/"level":"fatal".*"error":"stray"/);
  });

  test('repeats a write with the same Idempotency-Key after SIGKILL', async () => {
    const env = { ...environment(), WORKERS_TASKTYPES: 'college-adaptor_intake', ADAPTOR_001_URL: backEnd.url };
    program = await startProgram('workers/main.ts', env);
    const input = inboundOf({ httpMethod: 'PATCH', params: { mis: '001' }, body: Buffer.from('{}') });
    const more = { taskId: 'task-1', workflowInstanceId: 'execution-1' };
    router.addTask('college-adaptor_intake', input, more);
    await calledBackEnd();
    await program.kill();
    release();
    expect(router.results).toHaveLength(0);
    program = await startProgram('workers/main.ts', env);
    router.addTask('college-adaptor_intake', input, more);
    await router.result('task-1');
    const keys = backEnd.requests.map((request) => /idempotency-key: (.*)\r\n/i.exec(request)?.[1]);
    expect(keys).toEqual(['execution-1', 'execution-1']);
  });

  test('does not start without a client secret, and names the configuration key', async () => {
    const env = { ...environment(), WORKERS_CLIENTSECRET: '' };
    await expect(startProgram('workers/main.ts', env)).rejects.toThrow(/workers\.clientSecret is not set/);
  });
});
