// Tests of the engine's API behind OAuth: what workers and operators may do, and that stock clients work with it.

import { randomUUID } from 'node:crypto';
import { orkesConductorClient, TaskHandler } from '@io-orkes/conductor-javascript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Task } from '#lib/conductor/types.ts';
import { call, type Caller, callerFor } from '../stack/client.ts';
import { readCount } from '../stack/metrics.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

let stack: Stack;
let demo: Caller;
let worker: Caller;
let ops: Caller;
const suffix = randomUUID().slice(0, 6);
const taskType = `e2e_task_${suffix}`;
const workflow = `e2eWF_${suffix}`;
const engineUrl = engineOfRun().url;

beforeAll(async () => {
  stack = await shareStack({ engineUrl });
  demo = await callerFor(stack.url, 'demo');
  worker = await callerFor(stack.url, 'worker');
  ops = await callerFor(stack.url, 'ops');
});
afterAll(() => stack?.stop());

const json = (body: unknown, method = 'POST') => ({
  method,
  json: body,
});
const api = (path: string) => `/conductor/api${path}`;

/** Starts the workflow of these tests directly on the engine, as other programs may do. */
async function startElsewhere(input: unknown, taskToDomain = {}): Promise<string> {
  const answer = await call(`${engineUrl}/api/workflow`, json({ name: workflow, version: 1, input, taskToDomain }));
  return answer.text;
}

const statusOf = async (id: string) =>
  (await ops(api(`/workflow/${id}?includeTasks=false`))).json<{ status: string; output: unknown }>();

describe('operators', () => {
  it('register a task definition and a workflow, and read them', async () => {
    const taskDef = {
      name: taskType,
      retryCount: 0,
      timeoutSeconds: 60,
      responseTimeoutSeconds: 30,
      ownerEmail: 'a@example.org',
    };
    expect((await ops(api('/metadata/taskdefs'), json([taskDef]))).status).toBe(200);
    const task = {
      name: taskType,
      taskReferenceName: 'work',
      type: 'SIMPLE',
      inputParameters: { n: '${workflow.input.n}' },
    };
    const definition = {
      name: workflow,
      version: 1,
      schemaVersion: 2,
      ownerEmail: 'a@example.org',
      tasks: [task],
      outputParameters: { n: '${work.output.n}' },
    };
    expect((await ops(api('/metadata/workflow'), json([definition], 'PUT'))).status).toBe(200);
    expect((await ops(api(`/metadata/workflow/${workflow}?version=1`))).json()).toMatchObject({ name: workflow });
  });

  it('may not poll tasks', async () => {
    const answer = await ops(api(`/tasks/poll/batch/${taskType}?count=1&timeout=0`));
    expect(answer.status).toBe(403);
    expect(answer.headers['www-authenticate']).toContain('scope="conductor_worker"');
  });
});

describe('workers', () => {
  it.each([
    ['read definitions', 'GET', '/metadata/workflow'],
    ['register definitions', 'PUT', '/metadata/workflow'],
    ['read executions', 'GET', '/workflow/search'],
  ])('may not %s → 403', async (_title, method, path) => {
    expect((await worker(api(path), method === 'PUT' ? json([], 'PUT') : {})).status).toBe(403);
  });

  it('API clients may not poll → 403', async () => {
    expect((await demo(api(`/tasks/poll/batch/${taskType}`))).status).toBe(403);
  });

  it.each([
    ['GET', '/admin/config'],
    ['POST', '/workflow'],
    ['DELETE', '/workflow/x'],
    ['POST', '/workflow/bulk/terminate'],
    ['DELETE', '/metadata/taskdefs/x'],
    ['GET', '/metadata%2f..%2fadmin/config'],
    ['GET', '//admin/config'],
    ['GET', '/tasks;x=1/../admin'],
    ['GET', '/metadata/%2561dmin'],
  ])('%s %s → 400 or 404, whatever the scope', async (method, path) => {
    const answer = await ops(api(path), method === 'GET' ? {} : json({}, method));
    expect([400, 404]).toContain(answer.status);
    expect(answer.headers['content-type']).toBe('application/problem+json');
  });

  it('poll and report the task of an execution that another program started, and complete the execution', async () => {
    const id = await startElsewhere({ n: 1 });
    const polled = await worker(api(`/tasks/poll/batch/${taskType}?count=1&timeout=5000&workerid=w1`));
    const [task] = polled.json<Task[]>();
    expect(task).toMatchObject({ workflowInstanceId: id, inputData: { n: 1 } });
    const result = { taskId: task!.taskId, workflowInstanceId: id, status: 'COMPLETED', outputData: { n: 2 } };
    const updated = await worker(api('/tasks'), json(result));
    expect([updated.status, updated.text]).toEqual([200, task!.taskId]);
    expect(await statusOf(id)).toMatchObject({ status: 'COMPLETED', output: { n: 2 } });
    expect((await worker(api('/tasks'), json(result))).status).toBe(200);
  });

  it('an exchange reports results and returns the next tasks; numbers reach the engine as written', async () => {
    const ids = [await startElsewhere({ n: 1 }), await startElsewhere({ n: 2 })];
    const exchange = async (count: number, ...results: string[]) => {
      const header = JSON.stringify({ workerId: 'x', timeout: 5_000, wanted: [{ taskType, count }] });
      const body = [header, ...results].join('\n');
      return (await worker(api('/tasks/exchange'), { method: 'POST', body })).json<{ tasks: Task[] }>();
    };
    const [task] = (await exchange(1)).tasks;
    const completed = ({ taskId, workflowInstanceId }: Task) =>
      `{"taskId":"${taskId}","workflowInstanceId":"${workflowInstanceId}","status":"COMPLETED","outputData":{"n":12345678901234567890}}`;
    const next = await exchange(1, completed(task!));
    expect([task!, ...next.tasks].map(({ workflowInstanceId }) => workflowInstanceId).toSorted()).toEqual(
      ids.toSorted(),
    );
    expect(await exchange(0, completed(next.tasks[0]!))).toEqual({ tasks: [] });
    for (const id of ids) {
      expect((await ops(api(`/workflow/${id}?includeTasks=false`))).text).toContain('12345678901234567890');
    }
  });

  it('numbers in a result reach the engine as they were written', async () => {
    const id = await startElsewhere({});
    const [task] = (await worker(api(`/tasks/poll/batch/${taskType}?count=1&timeout=5000`))).json<Task[]>();
    const body = `{"taskId":"${task!.taskId}","workflowInstanceId":"${id}","status":"COMPLETED","outputData":{"n":12345678901234567890}}`;
    await worker(api('/tasks'), { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect((await call(`${engineUrl}/api/workflow/${id}`)).text).toContain('"n":12345678901234567890');
  });

  it('a poll that finds no task is held for its timeout, and then returns none', async () => {
    const startedAt = performance.now();
    const answer = await worker(api(`/tasks/poll/batch/${taskType}?count=1&timeout=400`));
    expect(answer.json()).toEqual([]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(390);
    expect((await worker(api(`/tasks/poll/${taskType}`))).status).toBe(204);
  });

  it('polls whose workers have disconnected take no task', async () => {
    const leave = new AbortController();
    // Sends more polls than the workers of the stack hold open.
    const gone = Array.from({ length: 20 }, () =>
      worker(api(`/tasks/poll/batch/${taskType}?count=1&timeout=20000`), { signal: leave.signal }).catch(
        () => undefined,
      ),
    );
    await pollUntil('the polls to be held', async () => (await heldPolls()) >= 20);
    leave.abort();
    await Promise.all(gone);
    const id = await startElsewhere({});
    const [task] = (await worker(api(`/tasks/poll/batch/${taskType}?count=1&timeout=5000`))).json<Task[]>();
    expect(task?.workflowInstanceId).toBe(id);
    await worker(api('/tasks'), json({ taskId: task!.taskId, workflowInstanceId: id, status: 'COMPLETED' }));
  });

  it('long polls do not delay other calls', async () => {
    const leave = new AbortController();
    const held = Array.from({ length: 180 }, (_, n) =>
      worker(api(`/tasks/poll/batch/${taskType}_${n % 7}?count=1&timeout=20000`), { signal: leave.signal }).catch(
        () => undefined,
      ),
    );
    await pollUntil('the polls to be held', async () => (await heldPolls()) >= 150);
    const startedAt = performance.now();
    const answer = await call(`${stack.url}/movies/x`);
    expect(answer.status).toBe(401);
    expect(performance.now() - startedAt, 'long before a held poll ends').toBeLessThan(10_000);
    leave.abort();
    await Promise.all(held);
  });

  it('invalid polls and results are refused with a reason', async () => {
    expect((await worker(api(`/tasks/poll/batch/${taskType}?count=x`))).status).toBe(400);
    expect((await worker(api('/tasks'), json({ status: 'COMPLETED' }))).json()).toMatchObject({
      status: 400,
      detail: expect.stringContaining('taskId'),
    });
    expect(
      (await worker(api('/tasks'), json({ taskId: 'none', workflowInstanceId: 'none', status: 'COMPLETED' }))).status,
    ).toBe(404);
  });
});

const heldPolls = () => readCount(stack.operationsUrl, 'router_held_polls');

describe('a stock SDK worker', () => {
  it('works through the router with only serverUrl, keyId and keySecret', async () => {
    const client = await orkesConductorClient({
      serverUrl: `${stack.url}/conductor/api`,
      keyId: 'worker',
      keySecret: 'worker-secret',
    });
    const domain = `d${suffix}`;
    const handler = new TaskHandler({
      client,
      workers: [
        {
          taskDefName: taskType,
          domain,
          concurrency: 5,
          pollInterval: 10,
          execute: async (task: { inputData?: { n?: number } }) => ({
            status: 'COMPLETED',
            outputData: { n: (task.inputData?.n ?? 0) * 2 },
          }),
        },
      ],
      scanForDecorated: false,
    } as unknown as ConstructorParameters<typeof TaskHandler>[0]);
    await handler.startWorkers();
    try {
      const ids = await Promise.all(
        Array.from({ length: 20 }, (_, n) => startElsewhere({ n }, { [taskType]: domain })),
      );
      for (const [n, id] of ids.entries()) {
        const execution = await pollUntil(`execution ${n} to complete`, async () => {
          const found = await statusOf(id);
          return found.status === 'COMPLETED' && found;
        });
        expect(execution.output).toEqual({ n: 2 * n });
      }
    } finally {
      await handler.stopWorkers();
    }
  });

  it('gets 401 as JSON with a wrong secret', async () => {
    const answer = await call(`${stack.url}${api('/token')}`, json({ keyId: 'worker', keySecret: 'wrong' }));
    expect(answer.status).toBe(401);
    expect(answer.json()).toMatchObject({ status: 401 });
    const polled = await call(`${stack.url}${api('/tasks/poll/batch/x')}`, {
      headers: { 'x-authorization': 'nonsense' },
    });
    expect(polled.status).toBe(401);
    expect(polled.json()).toMatchObject({ status: 401, error: 'INVALID_TOKEN' });
  });
});
