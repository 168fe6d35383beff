// Tests of task results: which waiters and polls they wake, that late results have no effect, and what a worker may
// report and take.

import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { Engine, EngineResponse } from '#lib/conductor/engine.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { TransientMap } from '#lib/gc/transient-map.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import type { KnownCompletions } from '../../../../plugins/conductor/dispatch/known-completions.ts';
import { PostponedReads } from '../../../../plugins/conductor/dispatch/postponed-reads.ts';
import { returnedByWorker, unreceivedReason } from '../../../../plugins/conductor/dispatch/repeated-delivery.ts';
import type { WakeUps } from '../../../../plugins/conductor/dispatch/wake-ups.ts';
import { WorkflowMetadataCache } from '../../../../plugins/conductor/dispatch/workflow-metadata-cache.ts';
import { TaskUpdates } from '../../../../plugins/conductor/task-api/task-updates.ts';
import { WorkerLimits } from '../../../../plugins/conductor/task-api/worker-limits.ts';

const executionId = '00000000-0000-0000-0000-000000000001';
/** The execution as the engine returns it after a result, without the request and the tasks. */
const execution = {
  ...{ workflowId: executionId, status: 'COMPLETED', output: { o: 1 } },
  ...{ reasonForIncompletion: '', lastRetriedTime: 5 },
};
const taskId = `${executionId}.read`;
const task: Task = {
  ...{ taskId, taskDefName: 'movies_intake', taskType: 'movies_intake', referenceTaskName: 'read' },
  workflowInstanceId: executionId,
};

const simple = (name: string) => ({ name, taskReferenceName: name, type: 'SIMPLE' });
const outputParameters = { o: '${first.output.o}' };
/** The tasks of each version of the engine's workflows, from version 1 on. */
const workflows: Readonly<Record<string, readonly object[][]>> = {
  growing: [[simple('first')], [simple('first'), simple('second')]],
  short: [[simple('first')], [simple('first')]],
};
const patched = 'conductor:short:patched';
/** The engine starts the workflow `short` after the event. */
const eventHandlers = [{ event: patched, active: true, actions: [{ start_workflow: { name: 'short' } }] }];

/** Creates an engine in which the task has this status. It accepts only results of pending tasks. */
function setUp(
  status: 'IN_PROGRESS' | 'COMPLETED' | 'TIMED_OUT' | 'deleted',
  {
    delivered = [task],
    domain = 'direct-dispatch.002',
    events = [],
  }: { delivered?: readonly Task[]; domain?: string; events?: readonly string[] } = {},
) {
  const calls: string[] = [];
  /** The bodies of results that were reported by task id. */
  const reported: Partial<TaskResult>[] = [];
  /** Whether the engine can be reached, and the status of all its responses; 0 for its usual responses. */
  const engineState = { isReachable: true, failure: 0 };
  const atEngine = { taskId: 'engine-id', domain, inputData: { inbound: 1 }, outputData: {}, status: status as string };
  const respond = (code: number, body: unknown = ''): EngineResponse => ({
    ...{ status: code, headers: {} },
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  });
  const request = async (call: { method: string; path: string; body?: string | Buffer }): Promise<EngineResponse> => {
    const { method, path } = call;
    calls.push(`${method} ${path}`);
    if (!engineState.isReachable) throw new EngineError('unreachable', path);
    if (engineState.failure > 0) return respond(engineState.failure);
    const pending = atEngine.status === 'IN_PROGRESS';
    if (atEngine.status === 'deleted') return respond(404, { status: 404 });
    const [, name = '', version] = /^\/api\/metadata\/workflow\/(\w+)(?:\/versions|\?version=(\d+))$/.exec(path) ?? [];
    const versions = workflows[name];
    const summaries = versions?.map((_, index) => ({ name, version: index + 1 }));
    if (path.endsWith('/versions')) return respond(200, summaries);
    if (versions !== undefined) return respond(200, { name, tasks: versions[Number(version) - 1], outputParameters });
    if (path.startsWith('/api/workflow/'))
      return respond(200, { workflowId: executionId, tasks: [{ ...task, ...atEngine }] });
    if (path === '/api/tasks') {
      const result = JSON.parse(String(call.body)) as Partial<TaskResult>;
      reported.push(result);
      if (pending) atEngine.outputData = result.outputData ?? {};
    }
    if (path.endsWith('/COMPLETED/sync') && !pending) return respond(404, { status: 404 });
    if (path.endsWith('/COMPLETED/sync')) return respond(200, { ...execution, input: { inbound: 1 } });
    if (path === '/api/tasks/search') return respond(200, { totalHits: 0, results: [] });
    if (path === '/api/event') return respond(200, eventHandlers);
    // Without a pending task, Conductor 3.32 responds with 200 and no body.
    return respond(200, path === '/api/tasks' || pending ? 'engine-id' : '');
  };
  const engine = { request } as unknown as Engine;
  const changes: unknown[] = [];
  const dispatched: string[] = [];
  const again: { queue: unknown; task: Task }[] = [];
  const appeared: unknown[] = [];
  const expected: unknown[] = [];
  const completions: KnownCompletions = new TransientMap();
  completions.set(executionId, { referenceName: 'read', outputOf: (output) => output, events });
  const log = createLog('test', 'silent');
  const directDispatch = {
    dispatch(queue: unknown, one: Task) {
      dispatched.push(one.taskId);
      again.push({ queue, task: one });
    },
  };
  const postponedReads = new PostponedReads({ engine, directDispatch, log });
  const updates = new TaskUpdates(engine, {
    completions,
    wakeUps: {
      executionChanged: (...change: unknown[]) => void changes.push(change),
      tasksAppeared: (queues: unknown[]) => void appeared.push(...queues),
      tasksExpected: (queues: unknown[]) => void expected.push(...queues),
    } as unknown as WakeUps,
    metadata: new WorkflowMetadataCache(engine),
    ...{ postponedReads, log },
  });
  updates.remember(delivered);
  const report = (result: Partial<TaskResult>) => {
    const whole = { taskId, workflowInstanceId: executionId, status: 'COMPLETED', ...result } as TaskResult;
    return updates.update(whole, Buffer.from(JSON.stringify(whole)));
  };
  const limits = new WorkerLimits({
    ...{ engine, workflows: ['college-adaptorWF'], recall: (id) => updates.recall(id) },
    config: { 'client.limited.taskTypes': ['movies_intake'] } as never,
  });
  return {
    report,
    updates,
    postponedReads,
    limits,
    calls,
    reported,
    atEngine,
    engineState,
    changes,
    dispatched,
    again,
    appeared,
    expected,
  };
}

/** A task that was polled from the engine, which does not retry it. */
const polled = (referenceTaskName: string): Task => ({
  ...task,
  ...{ taskId: 'engine-id', referenceTaskName },
  workflowTask: { taskDefinition: { retryCount: 0 } },
});

describe('the result of a dispatched task', () => {
  it('that the engine accepts: the client gets the output at once', async () => {
    const { report, changes } = setUp('IN_PROGRESS');
    expect((await report({ outputData: { read: 1 } })).response.status).toBe(200);
    expect(changes).toEqual([
      [executionId, { status: { workflowId: executionId, status: 'COMPLETED', output: { read: 1 } } }],
    ]);
  });

  it('with a large output: still reported with one call', async () => {
    const { report, calls } = setUp('IN_PROGRESS');
    await report({ outputData: { read: 'x'.repeat(100_000) } });
    expect(calls).toEqual([`POST /api/tasks/${executionId}/read/COMPLETED`]);
  });

  it('whose execution has already ended in another way: the client gets the result from the engine', async () => {
    const { report, changes } = setUp('TIMED_OUT');
    expect((await report({ outputData: { read: 1 } })).response.status).toBe(200);
    expect(changes).toEqual([[executionId, {}]]);
  });

  it('that postpones a task of another router: dispatched again with the input from the engine', async () => {
    vi.useFakeTimers();
    const { report, again } = setUp('IN_PROGRESS', { delivered: [] });
    const postponed = { status: 'IN_PROGRESS', callbackAfterSeconds: 1, outputData: { seen: 1 } } as const;
    expect((await report(postponed)).response.status).toBe(200);
    await vi.advanceTimersByTimeAsync(999);
    expect(again).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    vi.useRealTimers();
    const atEngine = { status: 'IN_PROGRESS', inputData: { inbound: 1 }, outputData: { seen: 1 }, domain: '002' };
    expect(again).toEqual([{ queue: { taskType: 'movies_intake', domain: '002' }, task: { ...task, ...atEngine } }]);
  });

  it('that postpones a task that workers poll from the engine: not dispatched', async () => {
    vi.useFakeTimers();
    const { report, dispatched } = setUp('IN_PROGRESS', { domain: '002' });
    await report({ status: 'IN_PROGRESS' });
    await vi.advanceTimersByTimeAsync(1_000);
    vi.useRealTimers();
    expect(dispatched).toEqual([]);
  });

  it('the router that delivered the task does not keep its input', async () => {
    const { updates } = setUp('IN_PROGRESS', { delivered: [] });
    updates.remember([{ ...task, inputData: { inbound: 'large' } }]);
    expect(JSON.stringify(updates.recall(taskId))).not.toContain('large');
  });

  it('that postpones the task after its execution has ended: not dispatched again', async () => {
    vi.useFakeTimers();
    const { report, dispatched } = setUp('TIMED_OUT');
    await report({ status: 'IN_PROGRESS', callbackAfterSeconds: 1 });
    await vi.advanceTimersByTimeAsync(2_000);
    vi.useRealTimers();
    expect(dispatched).toEqual([]);
  });

  it('that postpones the task beyond the end of its execution: not dispatched, as its client may be gone', async () => {
    vi.useFakeTimers();
    const { report, atEngine, dispatched } = setUp('IN_PROGRESS');
    await report({ status: 'IN_PROGRESS', callbackAfterSeconds: 60 });
    atEngine.status = 'CANCELED';
    await vi.advanceTimersByTimeAsync(61_000);
    vi.useRealTimers();
    expect(dispatched).toEqual([]);
  });

  it.each([
    ['is unreachable', { isReachable: false }],
    ['responds with 503', { failure: 503 }],
    ['responds with 401', { failure: 401 }],
    ['responds with 403', { failure: 403 }],
    ['responds with 408', { failure: 408 }],
    ['responds with 429', { failure: 429 }],
  ])('that postpones a task that falls due while the engine %s: dispatched after the outage', async (_name, outage) => {
    vi.useFakeTimers();
    const { report, engineState, dispatched } = setUp('IN_PROGRESS');
    await report({ status: 'IN_PROGRESS', callbackAfterSeconds: 1 });
    Object.assign(engineState, outage);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(dispatched).toEqual([]);
    Object.assign(engineState, { isReachable: true, failure: 0 });
    await vi.advanceTimersByTimeAsync(1_000);
    vi.useRealTimers();
    expect(dispatched).toEqual([taskId]);
  });

  it.each([404, 400])(
    'that postpones the task, when the engine responds to its read with %i: the router does not read the task again',
    async (failure) => {
      vi.useFakeTimers();
      const { report, calls, engineState } = setUp('IN_PROGRESS');
      await report({ status: 'IN_PROGRESS', callbackAfterSeconds: 1 });
      const before = calls.length;
      Object.assign(engineState, { failure });
      await vi.advanceTimersByTimeAsync(60_000);
      const timers = vi.getTimerCount();
      vi.useRealTimers();
      expect([calls.length - before, timers]).toEqual([1, 0]);
    },
  );

  it('that postpones the task until a time during a long outage: the router reads the task ever less often, but at least every 5 s', async () => {
    vi.useFakeTimers();
    const { report, calls, engineState, dispatched } = setUp('IN_PROGRESS');
    await report({ status: 'IN_PROGRESS', callbackAfterSeconds: 1 });
    const before = calls.length;
    engineState.isReachable = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(calls.length - before).toBeLessThanOrEqual(16);
    engineState.isReachable = true;
    await vi.advanceTimersByTimeAsync(5_000);
    vi.useRealTimers();
    expect(dispatched).toEqual([taskId]);
  });

  it('that postpones the task twice: dispatched once, at the time that the last result sets', async () => {
    vi.useFakeTimers();
    const { report, dispatched } = setUp('IN_PROGRESS');
    await report({ status: 'IN_PROGRESS', callbackAfterSeconds: 1 });
    await report({ status: 'IN_PROGRESS', callbackAfterSeconds: 2 });
    await vi.advanceTimersByTimeAsync(1_999);
    expect(dispatched).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    expect(dispatched).toEqual([taskId]);
  });

  it('that postpones a task while 10,000 others are postponed: the oldest of them is forgotten', async () => {
    vi.useFakeTimers();
    const { report } = setUp('IN_PROGRESS', { delivered: [] });
    for (let index = 0; index < 10_010; index++) {
      const workflowInstanceId = `00000000-0000-0000-0000-${String(index).padStart(12, '0')}`;
      const postponed = { status: 'IN_PROGRESS', callbackAfterSeconds: 60 } as const;
      await report({ taskId: `${workflowInstanceId}.read`, workflowInstanceId, ...postponed });
    }
    const timers = vi.getTimerCount();
    vi.useRealTimers();
    expect(timers).toBe(10_000);
  });

  it('that postpones the task: forgotten when the router stops before or during the read of the task', async () => {
    vi.useFakeTimers();
    const { report, postponedReads, engineState, dispatched } = setUp('IN_PROGRESS');
    await report({ status: 'IN_PROGRESS', callbackAfterSeconds: 1 });
    postponedReads.stop();
    const afterStop = vi.getTimerCount();
    await report({ status: 'IN_PROGRESS', callbackAfterSeconds: 1 });
    engineState.isReachable = false;
    vi.advanceTimersByTime(1_000);
    postponedReads.stop();
    await vi.advanceTimersByTimeAsync(0);
    const afterRead = vi.getTimerCount();
    vi.useRealTimers();
    expect([afterStop, afterRead, dispatched]).toEqual([0, 0, []]);
  });

  it('that only extends the lease: the task stays with its worker', async () => {
    vi.useFakeTimers();
    const { report, dispatched } = setUp('IN_PROGRESS');
    await report({ status: 'IN_PROGRESS', extendLease: true });
    await vi.advanceTimersByTimeAsync(1_000);
    vi.useRealTimers();
    expect(dispatched).toEqual([]);
  });

  it('that postpones the task for longer than a timer can wait: dispatched after that time, not at once', async () => {
    vi.useFakeTimers();
    const { report, dispatched } = setUp('IN_PROGRESS');
    await report({ status: 'IN_PROGRESS', callbackAfterSeconds: 3_000_000 });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(dispatched).toEqual([]);
    await vi.advanceTimersByTimeAsync(2 ** 31);
    vi.useRealTimers();
    expect(dispatched).toEqual([taskId]);
  });
});

describe('a worker limited to some task types', () => {
  it('may repeat the result of a task that has ended', async () => {
    const { report, limits } = setUp('COMPLETED');
    await report({});
    await expect(limits.checkTask('limited', taskId, executionId)).resolves.toBeUndefined();
  });

  it('gets 403 for the name of another call in place of a task id', async () => {
    await expect(setUp('COMPLETED').limits.checkTask('limited', 'search')).rejects.toMatchObject({ status: 403 });
  });

  it('cannot take tasks of a direct domain, nor can a worker without limits', () => {
    const { limits } = setUp('COMPLETED');
    const name = { taskType: 'movies_intake', domain: 'direct-dispatch' };
    expect(() => limits.checkQueue('any', name)).toThrow('Only routers take tasks of this domain.');
  });

  it.each([
    ['the executions to be swept', { taskType: '_deciderQueue', domain: undefined }],
    ['events', { taskType: 'person_patched', domain: 'college-adaptorWF' }],
    ['events, by the name of the queue', { taskType: 'college-adaptorWF:person_patched', domain: undefined }],
    ['a direct domain, by the name of the queue', { taskType: 'direct-dispatch.a:x', domain: undefined }],
    ['system tasks', { taskType: 'JOIN', domain: undefined }],
    ['a domain with a colon', { taskType: 'x', domain: 'a:b' }],
  ])("cannot poll the engine's own queues, nor can a worker without limits: %s", (_queue, name) => {
    expect(() => setUp('COMPLETED').limits.checkQueue('any', name)).toThrow("This is one of the engine's own queues");
  });
});

it('the result of a polled task wakes the waiters with the status of its execution, without the request', async () => {
  const { updates, changes } = setUp('IN_PROGRESS');
  updates.remember([polled('write')]);
  const result = { taskId: 'engine-id', workflowInstanceId: executionId, status: 'COMPLETED', outputData: {} } as const;
  expect((await updates.update(result, Buffer.from(JSON.stringify(result)))).response.status).toBe(200);
  expect(changes).toEqual([[executionId, { status: execution }]]);
});

describe('the result of a polled task that completes its execution', () => {
  const completion = { workflowId: executionId, status: 'COMPLETED', output: { read: 1 } };
  const large = 'x'.repeat(100_000);

  it.each([
    ['with a small output', {}, { read: 1 }],
    ['with a large output', {}, { read: large }],
    ['with an empty reason and log, as some SDKs write them', { reasonForIncompletion: null, logs: [] }, { read: 1 }],
  ])('%s: the client gets the output after one call to the engine', async (_title, fields, outputData) => {
    const { report, calls, changes } = setUp('IN_PROGRESS', { delivered: [polled('read')] });
    const result = { taskId: 'engine-id', ...fields, outputData } as unknown as Partial<TaskResult>;
    expect((await report(result)).response).toEqual({ status: 200, body: Buffer.from('engine-id') });
    expect(calls).toEqual([`POST /api/tasks/${executionId}/read/COMPLETED`]);
    expect(changes).toEqual([[executionId, { status: { ...completion, output: outputData } }]]);
  });

  it.each([
    ['whose client waits here', 'read', {}],
    ['whose client waits at another router', 'other', {}],
    ['with a log', 'read', { logs: [{ log: 'a line' }] }],
  ])('%s, after the execution has ended in another way: the client gets the result from the engine', async (...row) => {
    const [, referenceName, fields] = row;
    const { report, updates, changes } = setUp('TIMED_OUT', { delivered: [polled(referenceName)] });
    expect((await report({ taskId: 'engine-id', outputData: { read: 1 }, ...fields })).response.status).toBe(200);
    expect(changes).toEqual([[executionId, {}]]);
    expect(updates.recall('engine-id')).toBeUndefined();
  });
});

it.each([
  ['only an output', {}],
  ['a log', { logs: [{ log: 'a line' }] }],
  ['a reason', { reasonForIncompletion: 'in part' }],
])(
  'a result with %s that completes an execution: the router expects the first task of the workflow that the event starts',
  async (_title, fields) => {
    const { report, expected } = setUp('IN_PROGRESS', { delivered: [polled('read')], events: [patched] });
    await report({ taskId: 'engine-id', outputData: { read: 1 }, ...fields });
    await setImmediate();
    expect(expected).toEqual([{ taskType: 'first', domain: undefined }]);
  },
);

describe('an extension of the lease', () => {
  it.each([
    ['of a polled task, without a status', 'engine-id', { status: undefined }],
    ['of a dispatched task, without a status', taskId, { status: null }],
    ['of a polled task, with COMPLETED, which the engine ignores', 'engine-id', { status: 'COMPLETED' }],
    ['of a dispatched task, with COMPLETED', taskId, { status: 'COMPLETED' }],
    ['of a dispatched task, with FAILED', taskId, { status: 'FAILED' }],
  ])('%s: reported to the engine, and the task stays with its worker', async (_title, id, fields) => {
    const { report, updates, reported, changes } = setUp('IN_PROGRESS', { delivered: [task, polled('read')] });
    const extension = { taskId: id, extendLease: true, ...fields } as Partial<TaskResult>;
    expect((await report(extension)).response).toEqual({ status: 200, body: Buffer.from(id) });
    expect(reported).toEqual([expect.objectContaining({ taskId: 'engine-id', extendLease: true })]);
    expect(updates.recall(id)).toBeDefined();
    expect(changes).toEqual([]);
  });

  // Conductor's WorkflowExecutorOps.extendLease ignores an ended task, and does not find a deleted one.
  it.each([
    ['has ended', 'TIMED_OUT', 200],
    ['was deleted', 'deleted', 404],
  ] as const)(
    'of a dispatched task whose execution %s: the worker gets the response of the engine',
    async (_title, status, code) => {
      const { report } = setUp(status);
      expect((await report({ extendLease: true })).response.status).toBe(code);
    },
  );
});

it('the result with which a worker postpones a returned task is reported with another reason', async () => {
  const { report, reported } = setUp('IN_PROGRESS', { delivered: [polled('read')] });
  const copied = { reasonForIncompletion: unreceivedReason({ pollCount: 1 }), outputData: { step: 1 } };
  await report({ taskId: 'engine-id', status: 'IN_PROGRESS', ...copied });
  expect(reported).toEqual([expect.objectContaining({ ...copied, reasonForIncompletion: returnedByWorker })]);
});

it.each([
  [
    'wakes the polls for tasks of every version, because a task does not name the version of its workflow',
    'growing',
    ['first', 'second'],
  ],
  ['wakes no polls when every version ends with the task', 'short', []],
])('the result of a polled task that the engine may retry %s', async (_title, workflowType, expected) => {
  const { updates, appeared } = setUp('IN_PROGRESS');
  updates.remember([{ ...task, taskId: 'engine-id', referenceTaskName: 'first', workflowType }]);
  const result = { taskId: 'engine-id', workflowInstanceId: executionId, status: 'COMPLETED', outputData: {} } as const;
  await updates.update(result, Buffer.from(JSON.stringify(result)));
  await setImmediate();
  expect(appeared).toEqual(expected.map((taskType) => ({ taskType, domain: undefined })));
});
