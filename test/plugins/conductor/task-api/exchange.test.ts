// Tests of exchanges whose `wanted` contains an invalid name: results are reported, and only the queue with that name
// is refused.

import { expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '#lib/config/load.ts';
import type { Task } from '#lib/conductor/types.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { ResultBudget } from '../../../../plugins/conductor/dispatch/result-budget.ts';
import type { EngineApiDependencies } from '../../../../plugins/conductor/task-api/engine-api.ts';
import { call } from '../../../stack/client.ts';
import { noLimits, startEngineApi } from './engine-api-server.ts';

const { config } = await loadConfig({ env: {} });

/** Sends an exchange to a server whose engine accepts every result and has no tasks. */
async function exchange(...lines: object[]) {
  const reported: unknown[] = [];
  const polled: unknown[] = [];
  const dependencies = {
    updates: {
      update: async () => ({ response: { status: 200, body: Buffer.alloc(0) }, queue: undefined }),
      remember: () => undefined,
    },
    queues: { poll: async (queues: unknown[]) => (polled.push(...queues), []), isFailing: () => false },
    limits: noLimits,
    results: new ResultBudget({ maxWaitMs: 1_000 }),
    dispatchesTasks: () => true,
    reported: ({ taskId }: { taskId: string }) => reported.push(taskId),
    withTrace: (task: Task) => task,
    log: createLog('test', 'silent'),
  } as unknown as EngineApiDependencies;
  const { url, close } = await startEngineApi(config, dependencies);
  onTestFinished(close);
  const body = lines.map((line) => JSON.stringify(line)).join('\n');
  const response = await call(`${url}/conductor/api/tasks/exchange`, { method: 'POST', body });
  return { response, reported, polled };
}

const valid = { taskType: 't', count: 1 };
const invalid = { taskType: 'a\nb', count: 1 };
const header = { timeout: 0, wanted: [valid, invalid] };
const result = { taskId: 'task-1', workflowInstanceId: 'e', status: 'COMPLETED', outputData: {} };

it('results are reported, the invalid queue is refused, and the other queue is polled', async () => {
  const { response, reported, polled } = await exchange(header, result);
  expect(response.json()).toEqual({ tasks: [], refused: ['a\nb'] });
  expect(reported).toEqual(['task-1']);
  expect(polled).toEqual([valid]);
});

it('without results, an invalid name is a malformed request', async () => {
  const { response, polled } = await exchange(header);
  expect(response.status).toBe(400);
  expect(polled).toEqual([]);
});

it('a result with a member of the wrong type gets 400, and the other results are reported', async () => {
  const wrong = { ...result, taskId: 'task-2', workerId: ['\ud800'] };
  const { response, reported } = await exchange(header, wrong, result);
  expect(response.json()).toMatchObject({ tasks: [], statuses: [400, 200] });
  expect(reported).toEqual(['task-1']);
});
