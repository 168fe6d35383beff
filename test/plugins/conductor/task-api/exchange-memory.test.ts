// Tests of the memory that an exchange uses: while it waits for tasks, its results can be garbage-collected.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { loadConfig } from '#lib/config/load.ts';
import type { Task } from '#lib/conductor/types.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { ResultBudget } from '../../../../plugins/conductor/dispatch/result-budget.ts';
import type { EngineApiDependencies } from '../../../../plugins/conductor/task-api/engine-api.ts';
import { call } from '../../../stack/client.ts';
import { pollUntil } from '../../../stack/poll-until.ts';
import { noLimits, startEngineApi } from './engine-api-server.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const { config } = await loadConfig({ env: {} });

/** Starts a server with the policy. Its engine accepts every result, and its polls are held until `release`. */
async function start() {
  const results: WeakRef<ArrayBufferLike>[] = [];
  const polls = Promise.withResolvers<Task[]>();
  let heldPolls = 0;
  const dependencies = {
    updates: {
      update: async (_result: unknown, body: Buffer) => {
        results.push(new WeakRef(body.buffer));
        return { response: { status: 200, body: Buffer.alloc(0) }, queue: undefined };
      },
      remember: () => undefined,
    },
    queues: { poll: () => (heldPolls++, polls.promise), isFailing: () => false },
    limits: noLimits,
    results: new ResultBudget({ maxWaitMs: 1_000 }),
    dispatchesTasks: () => true,
    reported: () => undefined,
    withTrace: (task: Task) => task,
    log: createLog('test', 'silent'),
  } as unknown as EngineApiDependencies;
  const { url, close } = await startEngineApi(config, dependencies);
  return { url, close, results, heldPolls: () => heldPolls, release: () => polls.resolve([]) };
}

it('a large result is not kept while its exchange waits for tasks', async () => {
  const { url, close, results, heldPolls, release } = await start();
  const header = { timeout: 60_000, wanted: [{ taskType: 't', count: 1 }] };
  const result = {
    taskId: 't',
    workflowInstanceId: 'e',
    status: 'COMPLETED',
    outputData: { text: 'x'.repeat(1_000_000) },
  };
  const body = [header, result].map((line) => JSON.stringify(line)).join('\n');
  const exchanged = call(`${url}/conductor/api/tasks/exchange`, { method: 'POST', body });
  await pollUntil('the exchange to wait for tasks', () => heldPolls() === 1);
  await pollUntil(
    'the result to be garbage-collected',
    () => {
      collectGarbage();
      return results[0]?.deref() === undefined;
    },
    { timeoutMs: 10_000 },
  );
  release();
  expect((await exchanged).json()).toEqual({ tasks: [] });
  await close();
});
