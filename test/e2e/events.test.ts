// Tests of events in the engine: which responses start mdmWF, and in which domains the shares are queued.

import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { createInbound } from '#lib/envelope/inbound.ts';
import { createOutbound } from '#lib/envelope/outbound.ts';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import { Engine } from '#lib/conductor/engine.ts';
import type { EngineExecution } from '../stack/engine-api.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { stopIdleWorkers } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const engine = new Engine({ url: engineOfRun().url, timeoutMs: 10_000, connections: 4 });
/** Task domain of these executions; no other worker of this run polls it. */
const domain = `test-${randomBytes(4).toString('hex')}`;

async function get<T>(path: string): Promise<T> {
  const { body } = await engine.request({ method: 'GET', path });
  return JSON.parse(body.toString('utf8')) as T;
}

/** Takes the next task of one execution, as a worker would. */
async function takeTask(taskType: string, executionId: string, inDomain?: string): Promise<Task> {
  return pollUntil(`a task ${taskType} of ${executionId}`, async () => {
    const query = { count: 1, ...(inDomain === undefined ? {} : { domain: inDomain }) };
    const [task] = await engine.pollTasks(taskType, query);
    return task?.workflowInstanceId === executionId ? task : undefined;
  });
}

const complete = ({ taskId, workflowInstanceId }: Task, outputData: TaskResult['outputData'] = {}) =>
  engine.updateTask({ taskId, workflowInstanceId, status: 'COMPLETED', outputData });

const correlated = (name: string, executionId: string) =>
  get<EngineExecution[]>(`/api/workflow/${name}/correlated/${executionId}?includeClosed=true&includeTasks=false`);

/** Runs college-adaptorWF to completion with this response from the back end, and returns the execution id. */
async function route(httpMethod: string, status: number | undefined, version = 2): Promise<string> {
  const inbound = createInbound({
    httpMethod,
    path: '/mock/colleges/001/persons/1',
    query: undefined,
    params: { mis: '001' },
    headers: { 'content-type': 'application/json' },
    requestId: `request-${randomBytes(4).toString('hex')}`,
    clientId: 'demo',
    route: 'adaptor',
    body: Buffer.from('{"cccid":"AAA0001"}'),
  });
  const executionId = await engine.startWorkflow({
    name: 'college-adaptorWF',
    version,
    input: { inbound },
    taskToDomain: { '*': domain },
  });
  const body = Buffer.from('{"sisPersonId":"1"}');
  const output = status === undefined ? {} : { outbound: createOutbound({ status, headers: {}, body }) };
  await complete(await takeTask('college-adaptor_intake', executionId, domain), output);
  expect(await engine.getStatus(executionId)).toMatchObject({ status: 'COMPLETED' });
  return executionId;
}

/** Waits for the execution of mdmWF that a PATCH has started, and returns it. */
const mdmOf = (executionId: string) =>
  pollUntil(`mdmWF of ${executionId}`, async () => (await correlated('mdmWF', executionId))[0]);

/** Completes an execution of mdmWF with these interested systems. */
async function answerMdm({ workflowId }: EngineExecution, interestedSystems: unknown): Promise<Task> {
  const task = await takeTask('mdm_notify', workflowId);
  await complete(task, { notificationId: 'n-1', interestedSystems });
  return task;
}

beforeAll(async () => {
  // Workers that an earlier test file has left running would take the tasks.
  await stopIdleWorkers();
  // The engine may take a minute to start listening to a new handler's queue.
  await answerMdm(await mdmOf(await route('PATCH', 200)), []);
});

describe('the event of a PATCH', () => {
  it.each([200, 204, 299])('a PATCH with status %i starts mdmWF once, correlated with the PATCH', async (status) => {
    const executionId = await route('PATCH', status);
    const mdm = await mdmOf(executionId);
    expect(mdm.input).toMatchObject({
      mis: '001',
      executionId,
      inbound: { httpMethod: 'PATCH', body: '{"cccid":"AAA0001"}' },
      outbound: { statusCodeValue: status },
    });
    expect(mdm.input['requestId']).toMatch(/^request-/);
    await answerMdm(mdm, []);
    expect(await correlated('mdmWF', executionId)).toHaveLength(1);
  });

  it('a PATCH with 300, 404, 409, 500 or no status, a GET, a PUT, and a PATCH in version 1 start nothing', async () => {
    const quiet = [
      await route('PATCH', 300),
      await route('PATCH', 404),
      await route('PATCH', 409),
      await route('PATCH', 500),
      await route('PATCH', undefined),
      await route('GET', 200),
      await route('PUT', 200),
      await route('PATCH', 200, 1),
    ];
    // The engine handles events in order: when this event has had its effect, all earlier events have been handled.
    await answerMdm(await mdmOf(await route('PATCH', 200)), []);
    for (const executionId of quiet) expect(await correlated('mdmWF', executionId)).toEqual([]);
  });

  it("mdmWF runs in the default pool, whatever the domain of the PATCH's college", async () => {
    const mdm = await mdmOf(await route('PATCH', 200));
    expect(mdm.taskToDomain ?? {}).toEqual({});
    expect((await answerMdm(mdm, []))['domain']).toBeUndefined();
  });
});

describe('the events of mdmWF', () => {
  it.each([
    ['an empty list', []],
    ['no list', undefined],
  ])('mdmWF completes with %s of interested systems', async (_what, systems) => {
    const mdm = await mdmOf(await route('PATCH', 200));
    await answerMdm(mdm, systems);
    expect(await engine.getStatus(mdm.workflowId)).toMatchObject({ status: 'COMPLETED' });
  });

  it('each of several interested systems gets an event, and the share of 002 waits in the domain 002', async () => {
    const executionId = await route('PATCH', 200);
    const mdm = await mdmOf(executionId);
    const unknown = `X${randomBytes(2).toString('hex')}`;
    const share = { misCode: '002', sisPersonId: 'B-77', cccid: 'AAA0001' };
    await answerMdm(mdm, [{ ...share, misCode: unknown }, share]);
    expect(await engine.getStatus(mdm.workflowId)).toMatchObject({ status: 'COMPLETED' });
    const queues = await get<Record<string, number>>('/api/tasks/queue/all');
    expect(queues[`mdmWF:mdm_share_${unknown}`]).toBe(1);
    const [execution] = await pollUntil('mdm-shareWF to start', async () => {
      const found = await correlated('mdm-shareWF', executionId);
      return found.length > 0 && found;
    });
    expect(execution?.input).toMatchObject({ ...share, sourceExecutionId: executionId });
    const task = await takeTask('mdm_share', execution?.workflowId ?? '', '002');
    expect(task.inputData).toMatchObject({ ...share, sourceExecutionId: executionId });
    await complete(task, { status: 200 });
    expect(await engine.getStatus(task.workflowInstanceId)).toMatchObject({
      status: 'COMPLETED',
      output: { status: 200 },
    });
  });
});
