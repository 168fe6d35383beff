// Tests of the parameters of polls. The engine stores them and logs them unescaped, and routers keep them in memory.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '#lib/config/load.ts';
import type { Task } from '#lib/conductor/types.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import type { LoopbackServer } from '../../../../dev/loopback-server.ts';
import { ResultBudget } from '../../../../plugins/conductor/dispatch/result-budget.ts';
import { TaskQueues } from '../../../../plugins/conductor/dispatch/task-queues.ts';
import type { EngineApiDependencies } from '../../../../plugins/conductor/task-api/engine-api.ts';
import { WorkerLimits } from '../../../../plugins/conductor/task-api/worker-limits.ts';
import { call } from '../../../stack/client.ts';
import { startEngineApi } from './engine-api-server.ts';

const { config } = await loadConfig({ env: {} });
const log = createLog('test', 'silent');

/** The polls that reached the engine. */
const polled: unknown[] = [];
const engine = {
  pollTasks: async (taskType: string, { domain, workerId }: { domain?: string; workerId?: string }) => {
    polled.push({ taskType, domain, workerId });
    return [];
  },
  updateTask: async () => undefined,
};
let queues: TaskQueues;
let server: LoopbackServer;

/** Starts a server with the policy and an engine without tasks. */
beforeEach(async () => {
  polled.length = 0;
  queues = new TaskQueues(engine, log);
  const limits = new WorkerLimits({
    config,
    engine: { request: () => Promise.reject(new Error('not expected')) },
    workflows: [],
    recall: () => undefined,
  });
  const dependencies = {
    ...{ queues, limits, log, results: new ResultBudget({ maxWaitMs: 1_000 }) },
    updates: { remember: () => undefined },
    dispatchesTasks: () => true,
    withTrace: (task: Task) => task,
  } as unknown as EngineApiDependencies;
  server = await startEngineApi(config, dependencies);
});
afterEach(async () => {
  await queues.stop();
  await server.close();
});

const get = (path: string) => call(`${server.url}/conductor/api/tasks/poll/${path}`);
const exchange = (header: object) =>
  call(`${server.url}/conductor/api/tasks/exchange`, { method: 'POST', body: JSON.stringify(header) });

const longType = 't'.repeat(256);
const longId = 'w'.repeat(257);

describe('a poll', () => {
  it.each([
    [`batch/${longType}`, 'task type'],
    [longType, 'task type'],
    ['batch/movies%E2%80%AEintake', 'task type'],
    ['batch/movies_intake?domain=a%00b', 'domain'],
    [`movies_intake?domain=${'d'.repeat(65)}`, 'domain'],
    ['batch/movies_intake?domain=001,002', 'domain'],
    ['batch/movies_intake?workerid=w%0A2026-01-01%20ERROR', 'worker id'],
    ['movies_intake?workerid=w%00', 'worker id'],
    [`batch/movies_intake?workerid=${longId}`, 'worker id'],
  ])('%s → 400, the problem names the %s, and nothing reaches the engine', async (path, name) => {
    const { status, text } = await get(path);
    expect([status, text]).toEqual([400, expect.stringContaining(name)]);
    expect(polled).toEqual([]);
    expect([...queues]).toEqual([]);
  });

  it.each([
    ['?workerid=host.example', { workerId: 'host.example' }],
    ['?workerid=worker-1%40host%3A4711%20(v2)%2F%C3%A4&domain=', { workerId: 'worker-1@host:4711 (v2)/ä' }],
    ['?workerid=&domain=002', { workerId: '', domain: '002' }],
    ['', {}],
  ])('as the SDKs send it: movies_intake%s → 200', async (query, rest) => {
    expect((await get(`batch/movies_intake${query}`)).json()).toEqual([]);
    expect(polled[0]).toEqual({ taskType: 'movies_intake', domain: undefined, workerId: undefined, ...rest });
  });

  it('of a task type with other printable characters → 200', async () => {
    const taskType = `${'é'.repeat(250)}.-_(1)`.slice(0, 255);
    expect((await get(`batch/${encodeURIComponent(taskType)}`)).status).toBe(200);
    expect(polled[0]).toMatchObject({ taskType });
  });

  it('for no tasks (count=0) → an empty list at once, and the engine is not asked', async () => {
    const startedAt = performance.now();
    expect((await get('batch/movies_intake?count=0&timeout=60000')).json()).toEqual([]);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect(polled).toEqual([]);
    expect(queues.isPolled('movies_intake', 60_000)).toBe(false);
  });
});

describe('an exchange', () => {
  const wanted = [{ taskType: 'movies_intake', domain: '002', count: 1 }];
  const header = { workerId: 'w', timeout: 0, wanted };

  it.each([
    ['task type', { ...header, wanted: [...wanted, { taskType: 'x'.repeat(160_000), count: 1 }] }],
    ['task type', { ...header, wanted: [{ taskType: 'a\u0000', count: 1 }] }],
    ['task type', { ...header, wanted: [{ taskType: 'a\ud800', count: 1 }] }],
    ['domain', { ...header, wanted: [{ taskType: 'a', domain: 'b\nc', count: 1 }] }],
    ['worker id', { ...header, workerId: 'w\nx' }],
    ['worker id', { ...header, workerId: longId }],
  ])('with an invalid %s → 400, and nothing reaches the engine', async (name, wrong) => {
    const { status, text } = await exchange(wrong);
    expect([status, text]).toEqual([400, expect.stringContaining(name)]);
    expect(polled).toEqual([]);
    expect([...queues]).toEqual([]);
  });

  it('as workers send it → 200', async () => {
    expect((await exchange({ ...header, workerId: 'host:17' })).json()).toEqual({ tasks: [] });
    expect(polled[0]).toEqual({ taskType: 'movies_intake', domain: '002', workerId: 'host:17' });
  });
});
