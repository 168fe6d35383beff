// Tests of the memory that an exchange uses: while it waits for tasks, its results can be garbage-collected.

import { createServer } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { loadConfig } from '#lib/config/load.ts';
import type { Task } from '#lib/conductor/types.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { listenOnLoopback } from '../../../../dev/loopback-server.ts';
import { setContext } from '../../../../gateway/plugin-api/request-context.ts';
import { ResultBudget } from '../../../../plugins/conductor/dispatch/result-budget.ts';
import {
  createEngineApiPolicy,
  type EngineApiDependencies,
} from '../../../../plugins/conductor/task-api/engine-api.ts';
import { call } from '../../../stack/client.ts';
import { pollUntil } from '../../../stack/poll-until.ts';

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
    limits: {
      checkCall: () => undefined,
      checkTask: async () => undefined,
      sortQueues: (_client: string, allowed: unknown) => ({ allowed, refused: [] }),
    },
    results: new ResultBudget({ maxWaitMs: 1_000 }),
    dispatchesTasks: () => true,
    reported: () => undefined,
    withTrace: (task: Task) => task,
    log: createLog('test', 'silent'),
  } as unknown as EngineApiDependencies;
  const handle = createEngineApiPolicy(config, dependencies).policy({ strip: '/conductor' } as never);
  const server = createServer((request, response) => {
    const context = { requestId: 'r', clientAddress: '192.0.2.1', route: 'conductor', clientId: 'worker' };
    setContext(request, { ...context, scopes: new Set(['conductor_worker']) });
    void handle(Object.assign(request, { originalUrl: request.url }) as never, response as never, () => undefined);
  });
  const { url, close } = await listenOnLoopback(server);
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
