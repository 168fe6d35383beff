// Tests of races between routers, the engine and workers: no task is lost, and the router hands out no task twice.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Task } from '#lib/conductor/types.ts';
import { call, type Caller, callerFor } from '../stack/client.ts';
import { readCount } from '../stack/metrics.ts';
import type { EngineExecution } from '../stack/engine-api.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { byDepth } from '../run/depth.ts';
import { randomOfRun } from '../run/seed.ts';

const engineUrl = engineOfRun().url;
const taskType = 'movies_intake';
let stack: Stack;
let reader: Caller;
let worker: Caller;

beforeAll(async () => {
  // The tests act as the workers and see every task that is handed out. The admission queue is long enough for all of
  // their concurrent requests; the default share of one back end would be too small.
  stack = await shareStack({ engineUrl, withWorkers: false, router: { ADMISSION_QUEUELENGTH: '400' } });
  reader = await readerOf(stack.url);
  worker = await callerFor(stack.url, 'worker');
});
afterAll(() => stack?.stop());

async function readerOf(url: string): Promise<Caller> {
  const asReader = await callerFor(url, 'reader');
  return (path, options) => asReader(path, { undescribed: 'the responses of these tests are not movies', ...options });
}

const api = (path: string) => `/conductor/api${path}`;
const json = (body: unknown) => ({
  method: 'POST',
  json: body,
});
const metric = (name: string) => readCount(stack.operationsUrl, name);
const heldPolls = () => metric('router_held_polls');
const isHandedOver = ({ taskId }: Task) => taskId.includes('.');

const execution = async (id: string) =>
  (await call(`${engineUrl}/api/workflow/${id}?includeTasks=true`)).json<EngineExecution & Record<string, unknown>>();

async function poll({ count = 1, timeoutMs = 20_000, signal = undefined as AbortSignal | undefined } = {}) {
  const path = api(`/tasks/poll/batch/${taskType}?count=${count}&timeout=${timeoutMs}&workerid=raw`);
  const answer = await worker(path, signal === undefined ? {} : { signal });
  expect(answer.status).toBe(200);
  return answer.json<Task[]>();
}

const outbound = { statusCodeValue: 200, headers: { 'content-type': 'text/plain' }, body: 'done' };
const report = (task: Task, fields: object = { status: 'COMPLETED', outputData: { outbound } }) =>
  worker(api('/tasks'), json({ taskId: task.taskId, workflowInstanceId: task.workflowInstanceId, ...fields }));

describe('a task that is dispatched directly', () => {
  it('reaches a held poll without a poll of the engine, and its result reaches the client without a read', async () => {
    const warm = reader('/movies/warm');
    const [first] = await poll();
    await report(first!);
    await warm;
    const polls = Array.from({ length: 20 }, () => poll({ timeoutMs: 20_000 }));
    // Without a held poll, the router would fetch the task from the engine a moment later.
    await pollUntil('the polls to be held', async () => (await heldPolls()) === polls.length);
    const answers = polls.map((_, n) => reader(`/movies/${n}`));
    for (const [task] of await Promise.all(polls)) {
      expect(isHandedOver(task!)).toBe(true);
      expect(task).toMatchObject({ referenceTaskName: taskType, taskDefName: taskType, workflowType: 'moviesWF' });
      expect((task!.inputData as { inbound: { httpMethod: string } }).inbound.httpMethod).toBe('GET');
      expect((await report(task!)).text).toBe(task!.taskId);
    }
    for (const answer of answers) expect(await answer).toMatchObject({ status: 200, text: 'done' });
  });

  it('is completed in the engine under a different id', async () => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    await report(task!);
    expect((await answer).status).toBe(200);
    const { status, tasks } = await execution(task!.workflowInstanceId);
    expect([status, tasks[0]!.status]).toEqual(['COMPLETED', 'COMPLETED']);
    expect(tasks[0]!.taskId).not.toBe(task!.taskId);
  });

  it('may be reported twice', async () => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    expect((await report(task!)).status).toBe(200);
    expect((await report(task!)).status).toBe(200);
    expect((await answer).text).toBe('done');
  });

  it('may fail: the client gets the reason', async () => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    const failed = {
      status: 'FAILED_WITH_TERMINAL_ERROR',
      reasonForIncompletion: 'back-end-unreachable: no connection',
    };
    expect((await report(task!, failed)).status).toBe(200);
    expect((await answer).json()).toMatchObject({ status: 502, detail: 'no connection' });
    expect((await execution(task!.workflowInstanceId)).status).toBe('FAILED');
  });

  it('may have a log', async () => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    const line = { method: 'POST', headers: { 'content-type': 'application/json' }, body: 'a line' };
    expect((await worker(api(`/tasks/${task!.taskId}/log`), line)).status).toBe(200);
    await report(task!);
    expect((await answer).status).toBe(200);
  });

  it('keeps a large number in its result', async () => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    const body = `{"taskId":"${task!.taskId}","workflowInstanceId":"${task!.workflowInstanceId}","status":"COMPLETED","outputData":{"outbound":${JSON.stringify(outbound)},"n":12345678901234567890}}`;
    await worker(api('/tasks'), { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect((await answer).text).toBe('done');
    expect((await call(`${engineUrl}/api/workflow/${task!.workflowInstanceId}`)).text).toContain(
      '12345678901234567890',
    );
  });

  it('keeps a number that ends in .0', async () => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    const body = `{"taskId":"${task!.taskId}","workflowInstanceId":"${task!.workflowInstanceId}","status":"COMPLETED","outputData":{"outbound":${JSON.stringify(outbound)},"n":1.0}}`;
    await worker(api('/tasks'), { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect((await answer).text).toBe('done');
    expect((await call(`${engineUrl}/api/workflow/${task!.workflowInstanceId}`)).text).toContain('"n":1.0');
  });

  it.each([
    ['a body that is not base64', { body: '@@@', bodyEncoding: 'base64' }, 'The workflow output is not a response.'],
    [
      'header fields of more than 12,288 bytes',
      { headers: { link: 'x'.repeat(60_000) } },
      'The header fields of the response have more than 12288 bytes.',
    ],
  ])('with %s: 502', async (_title, fields, detail) => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    await report(task!, { status: 'COMPLETED', outputData: { outbound: { ...outbound, ...fields } } });
    expect((await answer).json()).toMatchObject({ status: 502, type: '/problems/back-end-bad-answer', detail });
  });

  it('with a line break in an id of its result: 400, and the result does not reach the engine', async () => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    const forged = { workflowInstanceId: `${task!.workflowInstanceId}\n2026-01-01 ERROR forged` };
    expect((await report(task!, { status: 'COMPLETED', ...forged })).status).toBe(400);
    await report(task!);
    expect((await answer).status).toBe(200);
  });

  it('may have its id in its output, before the task id of the result', async () => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    const { taskId, workflowInstanceId } = task!;
    const output = JSON.stringify({ outbound, taskId, n: 1 }).replace('1}', '12345678901234567890}');
    const body = `{"outputData":${output},"status":"COMPLETED","workflowInstanceId":"${workflowInstanceId}", "taskId" : "${taskId}"}`;
    const headers = { 'content-type': 'application/json' };
    expect((await worker(api('/tasks'), { method: 'POST', headers, body })).status).toBe(200);
    expect((await answer).text).toBe('done');
    expect((await call(`${engineUrl}/api/workflow/${workflowInstanceId}`)).text).toContain(`"taskId":"${taskId}"`);
  });

  it('is delivered again by the router after an IN_PROGRESS result', async () => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    expect((await report(task!, { status: 'IN_PROGRESS', callbackAfterSeconds: 0 })).status).toBe(200);
    const [again] = await poll();
    expect(again!.workflowInstanceId).toBe(task!.workflowInstanceId);
    await report(again!);
    expect((await answer).text).toBe('done');
  });

  it('stays with a worker that extends its lease', async () => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    expect((await report(task!, { status: 'IN_PROGRESS', extendLease: true })).status).toBe(200);
    expect(await poll({ timeoutMs: 1_200 })).toEqual([]);
    await report(task!);
    expect((await answer).text).toBe('done');
  });

  it('whose execution was terminated in the meantime: the late result does not become the response', async () => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    await call(`${engineUrl}/api/workflow/${task!.workflowInstanceId}?reason=by%20hand`, { method: 'DELETE' });
    expect((await report(task!)).status).toBe(200);
    expect(await answer).toMatchObject({ status: 502 });
  });

  it('is not completed by a result that names another execution', async () => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    const elsewhere = { workflowInstanceId: '00000000-0000-0000-0000-000000000000' };
    expect((await report(task!, { status: 'COMPLETED', ...elsewhere })).status).toBe(404);
    await report(task!);
    expect((await answer).status).toBe(200);
  });

  it('is not delivered again by a fetch: the engine has it in a queue that no worker polls', async () => {
    const answer = reader('/movies/slow');
    const [task] = await poll();
    // The poll lasts long enough for two idle fetches.
    expect(await poll({ timeoutMs: 2_300 })).toEqual([]);
    expect((await execution(task!.workflowInstanceId)).tasks[0]!.status).toBe('SCHEDULED');
    await report(task!);
    expect((await answer).text).toBe('done');
  });
});

describe('a result that names another execution', () => {
  it('is refused, because it would become the response to the client of the other execution', async () => {
    // Writes are polled, not dispatched directly: their tasks have the engine's ids, and the same reference name in
    // every execution.
    const demo = await callerFor(stack.url);
    const write = (name: string) => demo(`/adaptor/001/${name}`, { method: 'POST', body: name });
    const pollWrites = async () => {
      const answer = await worker(api('/tasks/poll/batch/college-adaptor_intake?count=1&timeout=5000&workerid=raw'));
      return answer.json<Task[]>()[0]!;
    };
    const own = write('own');
    const task = await pollWrites();
    const other = write('other');
    const otherTask = await pollWrites();
    const stolen = { ...outbound, body: 'of the other' };
    const forged = {
      status: 'COMPLETED',
      outputData: { outbound: stolen },
      workflowInstanceId: otherTask.workflowInstanceId,
    };
    expect((await report(task, forged)).status).toBe(404);
    await report(otherTask);
    expect((await other).text).toBe('done');
    await report(task);
    expect((await own).text).toBe('done');
  });
});

describe('a write', () => {
  it('is polled from the engine, which then knows that a worker has it', async () => {
    const demo = await callerFor(stack.url, 'demo');
    const answer = demo('/adaptor/001/mock/echo', { method: 'POST', body: 'x' });
    const path = api('/tasks/poll/batch/college-adaptor_intake?count=1&timeout=5000');
    const [task] = (await worker(path)).json<Task[]>();
    expect(isHandedOver(task!)).toBe(false);
    expect((await execution(task!.workflowInstanceId)).tasks[0]!.status).toBe('IN_PROGRESS');
    await report(task!);
    expect((await answer).text).toBe('done');
  });

  it.each([
    ['without a log', { status: 'COMPLETED', outputData: { outbound } }],
    ['with a log', { status: 'COMPLETED', outputData: { outbound }, logs: [{ log: 'a line', createdTime: 0 }] }],
  ])('whose execution was terminated: its late result %s does not become the response', async (_case, fields) => {
    const demo = await callerFor(stack.url, 'demo');
    const answer = demo('/adaptor/001/mock/echo', { method: 'POST', body: 'x' });
    const path = api('/tasks/poll/batch/college-adaptor_intake?count=1&timeout=5000');
    const [task] = (await worker(path)).json<Task[]>();
    await call(`${engineUrl}/api/workflow/${task!.workflowInstanceId}?reason=by%20hand`, { method: 'DELETE' });
    expect((await report(task!, fields)).status).toBe(200);
    expect(await answer).toMatchObject({ status: 502 });
  });

  it('stays with a worker that extends its lease without a status', async () => {
    const demo = await callerFor(stack.url, 'demo');
    const answer = demo('/adaptor/001/mock/echo', { method: 'POST', body: 'x' });
    const path = api('/tasks/poll/batch/college-adaptor_intake?count=1&timeout=5000');
    const [task] = (await worker(path)).json<Task[]>();
    expect((await report(task!, { extendLease: true })).text).toBe(task!.taskId);
    expect((await execution(task!.workflowInstanceId)).tasks[0]!.status).toBe('IN_PROGRESS');
    await report(task!);
    expect((await answer).text).toBe('done');
  });
});

describe('a worker that disconnects', () => {
  it('before its poll returns: the next worker gets the task', async () => {
    const leave = new AbortController();
    const gone = poll({ signal: leave.signal }).catch(() => 'gone');
    await pollUntil('the poll to be held', async () => (await metric('router_held_polls')) > 0);
    const answer = reader('/movies/x');
    leave.abort();
    const first = await gone;
    const [task] = first === 'gone' ? await poll() : (first as Task[]);
    await report(task!);
    expect((await answer).text).toBe('done');
  });

  it('that holds a task: another worker may report the result', async () => {
    const answer = reader('/movies/x');
    const [task] = await poll();
    const other = await callerFor(stack.url, 'worker');
    const { taskId, workflowInstanceId } = task!;
    const result = { taskId, workflowInstanceId, status: 'COMPLETED', outputData: { outbound }, workerId: 'other' };
    expect((await other(api('/tasks'), json(result))).status).toBe(200);
    expect((await answer).text).toBe('done');
  });
});

describe('a client that disconnects', () => {
  it('before a worker has its task: no worker gets it, and the wait ends', async () => {
    await poll({ timeoutMs: 1 });
    const leave = new AbortController();
    const gone = reader('/movies/x', { signal: leave.signal }).catch(() => 'gone');
    await pollUntil('the wait to begin', async () => (await metric('router_completion_waiters')) === 1);
    leave.abort();
    expect(await gone).toBe('gone');
    await pollUntil('the wait to end', async () => (await metric('router_completion_waiters')) === 0);
    expect(await poll({ timeoutMs: 1_200 })).toEqual([]);
  });
});

describe('clients that disconnect at random', () => {
  const random = randomOfRun();
  let handedOut: Map<string, number>;
  let done: AbortController;
  let workers: Promise<void>[] = [];

  /** Acts as a worker that takes batches and works for a few milliseconds. */
  async function work(): Promise<void> {
    while (!done.signal.aborted) {
      const tasks = await poll({ count: 4, timeoutMs: 300 });
      await Promise.all(
        tasks.map(async (task) => {
          handedOut.set(task.workflowInstanceId, (handedOut.get(task.workflowInstanceId) ?? 0) + 1);
          await pause(random.between(0, 10));
          await report(task);
        }),
      );
    }
  }

  beforeEach(() => {
    handedOut = new Map();
    done = new AbortController();
    workers = Array.from({ length: 6 }, work);
  });
  afterEach(async () => {
    done.abort();
    await Promise.all(workers);
  });

  it('other clients get responses, no task is handed out twice, and no wait or poll is left', async () => {
    const ids = new Set<string>();
    const startedAt = Date.now();
    const outcomes = await Promise.all(
      Array.from({ length: byDepth(30, 200) }, async (_, n) => {
        await pause(random.between(0, 1_500));
        const leave = new AbortController();
        const timer = n % 2 === 0 ? undefined : setTimeout(() => leave.abort(), random.between(0, 120));
        const answer = await reader(`/movies/${n}`, { signal: leave.signal }).catch(() => 'gone' as const);
        clearTimeout(timer);
        if (answer !== 'gone') ids.add(String(answer.headers['x-execution-id']));
        return answer === 'gone' ? 'gone' : answer.status;
      }),
    );
    expect(outcomes.filter((outcome, n) => n % 2 === 0 && outcome !== 200)).toEqual([]);
    expect(outcomes.filter((outcome) => outcome !== 200 && outcome !== 'gone')).toEqual([]);
    await pollUntil('every wait to end', async () => (await metric('router_completion_waiters')) === 0);
    done.abort();
    await Promise.all(workers);
    expect([...handedOut].filter(([, times]) => times > 1)).toEqual([]);
    // If another caller evaluates the execution at the same moment, the engine may finish it only at its next sweep.
    for (const id of ids) {
      const ended = async () => (await execution(id)).status !== 'RUNNING';
      await pollUntil(`execution ${id} to end`, ended);
      expect((await execution(id)).status).toBe('COMPLETED');
    }
    expect(await metric('router_held_polls')).toBe(0);
    // Counts only executions since the start of this test, because other files leave executions behind on purpose.
    const query = `workflowType='moviesWF' AND status='RUNNING' AND startTime>${startedAt}`;
    const running = async () => {
      const found = await call(`${engineUrl}/api/workflow/search?size=100&query=${encodeURIComponent(query)}`);
      return found.json<{ results: unknown[] }>().results;
    };
    await pollUntil('every execution to end', async () => (await running()).length === 0);
  });
});

describe('a write that the engine delivers a second time', () => {
  const writeType = 'college-adaptor_intake';
  const pollWrite = async (timeoutMs = 20_000) =>
    (await worker(api(`/tasks/poll/batch/${writeType}?count=5&timeout=${timeoutMs}`))).json<Task[]>();
  /**
   * Puts a second message for every task in progress into the queue, as the engine's sweeper does for a task that it
   * does not find in the queue.
   */
  const deliverAgain = () => call(`${engineUrl}/api/tasks/queue/requeue/${writeType}`, { method: 'POST' });
  const write = () => writer('/adaptor/001/mock/echo', { ...json({ name: 'x' }), method: 'PATCH' });
  let writer: Caller;

  beforeAll(async () => {
    writer = await callerFor(stack.url);
  });

  it('is not handed out while a worker has it', async () => {
    const answer = write();
    const [task] = await pollWrite();
    await deliverAgain();
    expect(await pollWrite(1_500)).toEqual([]);
    await report(task!);
    expect((await answer).status).toBe(200);
    expect((await execution(task!.workflowInstanceId)).tasks[0]).toMatchObject({ pollCount: 2 });
  });

  it.each([
    ['without a reason', {}],
    ['with a reason', { reasonForIncompletion: 'waits for the registrar' }],
    ['with an output', { outputData: { step: 1 } }],
  ])('is handed out again after its worker returned it %s', async (_case, fields) => {
    const answer = write();
    const [task] = await pollWrite();
    expect((await report(task!, { status: 'IN_PROGRESS', callbackAfterSeconds: 0, ...fields })).status).toBe(200);
    const [again] = await pollWrite();
    expect(again).toMatchObject({ taskId: task!.taskId, pollCount: 2, ...fields });
    await report(again!);
    expect((await answer).status).toBe(200);
  });
});

describe('a router that is killed', () => {
  it('accepts results of the tasks that workers hold, and delivers the other tasks after its restart', async () => {
    const lost = ['a', 'b'].map((title) => reader(`/movies/${title}`).catch(() => 'lost'));
    // Polls only now: with an earlier held poll, the router would have fetched the second task and lost it when it was
    // killed.
    await pollUntil('both requests to wait', async () => (await metric('router_completion_waiters')) === 2);
    const [inHand] = await poll();
    expect(isHandedOver(inHand!)).toBe(true);
    await stack.router.kill();
    await stack.restartRouter();
    expect(await Promise.all(lost)).toEqual(['lost', 'lost']);
    worker = await callerFor(stack.url, 'worker');
    reader = await readerOf(stack.url);
    // The new router knows the first task only from the id in the result. The engine still has this task in its queue.
    expect((await report(inHand!)).status).toBe(200);
    expect((await execution(inHand!.workflowInstanceId)).status).toBe('COMPLETED');
    const [other] = await poll();
    expect(other!.workflowInstanceId).not.toBe(inHand!.workflowInstanceId);
    await report(other!);
    expect((await execution(other!.workflowInstanceId)).status).toBe('COMPLETED');
    expect(await poll({ timeoutMs: 1_200 })).toEqual([]);
  });
});

describe('a router that is told to stop', () => {
  it('hands out the tasks of the requests in flight, and responds to these requests', async () => {
    const waiting = ['a', 'b', 'c'].map((title) => reader(`/movies/${title}`));
    await pollUntil('the requests to wait', async () => (await metric('router_completion_waiters')) === 3);
    const stopped = stack.router.stop();
    // Waits for readiness to change first: a request that arrives before the router handles the signal would also wait
    // for a worker.
    const ready = async () => (await call(`${stack.operationsUrl}/health/ready`)).text;
    await pollUntil('the router to handle the signal', async () => (await ready()).includes('shutting down'));
    const isRefused = async () => (await reader('/movies/late')).text.includes('shutting-down');
    await pollUntil('the router to drain', isRefused);
    for (const _ of waiting) {
      const [task] = await poll();
      expect((await report(task!)).status).toBe(200);
    }
    for (const answer of waiting) expect(await answer).toMatchObject({ status: 200, text: 'done' });
    expect(await stopped).toBe(0);
  });
});
