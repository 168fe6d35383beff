// Tests of the metric of worker polls: which queues it lists.

import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { CompletionWaiters } from '../../../../plugins/conductor/dispatch/completion-waiters.ts';
import { ResultBudget } from '../../../../plugins/conductor/dispatch/result-budget.ts';
import { TaskQueues } from '../../../../plugins/conductor/dispatch/task-queues.ts';
import { createGauges } from '../../../../plugins/conductor/telemetry/create-telemetry.ts';
import { Engine } from '#lib/conductor/engine.ts';

it('lists a queue without expected workers only after a worker has polled it', async () => {
  const metrics = new Registry();
  const engine = new Engine({ url: 'http://127.0.0.1:9', timeoutMs: 1_000, connections: 1 });
  const log = createLog('test', 'silent');
  const queues = new TaskQueues(engine, log);
  const plain = { taskType: 'library_intake', domain: '002', isExpected: false };
  const neededQueues = [plain, { taskType: 'college-adaptor_intake', domain: '002', isExpected: true }];
  createGauges(
    { metrics },
    {
      queues,
      waiters: new CompletionWaiters(engine, log),
      results: new ResultBudget({ bytes: 1, maxWaitMs: 1 }),
      calls: () => 0,
      neededQueues: () => neededQueues,
    },
  );
  const listed = async () => {
    const metric = await metrics.getSingleMetric('router_worker_last_poll_seconds')?.get();
    return metric?.values.map(({ labels }) => labels['task_type']);
  };
  expect(await listed()).toEqual(['college-adaptor_intake']);
  queues.notePoll(plain);
  expect(await listed()).toEqual(['library_intake', 'college-adaptor_intake']);
  await engine.close();
});
