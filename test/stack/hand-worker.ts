// A worker that a test controls: takes tasks from the router and reports them, one call at a time.

import type { Task } from '#lib/conductor/types.ts';
import { type Caller, callerFor, type RouterAnswer } from './client.ts';
import { pollUntil } from './poll-until.ts';

export interface HandWorker {
  /** Tasks of its type that are there now, or come within `timeoutMs`. */
  poll(options?: { count?: number; timeoutMs?: number }): Promise<Task[]>;
  /** The next task. */
  take(): Promise<Task>;
  /** Completes a task with this `outbound`. */
  report(task: Task, outbound: object): Promise<RouterAnswer>;
  /** Any other result. */
  reportAs(task: Task, fields: object): Promise<RouterAnswer>;
}

/** @param domain task domain whose tasks it takes */
export async function handWorker(url: string, taskType: string, domain: string): Promise<HandWorker> {
  const call: Caller = await callerFor(url, 'worker');
  const worker: HandWorker = {
    async poll({ count = 1, timeoutMs = 5_000 } = {}) {
      const query = `count=${count}&timeout=${timeoutMs}&workerid=by-hand&domain=${domain}`;
      const answer = await call(`/conductor/api/tasks/poll/batch/${taskType}?${query}`);
      if (answer.status !== 200) throw new Error(`poll: ${answer.status} ${answer.text}`);
      return answer.json<Task[]>();
    },
    async take() {
      return pollUntil('a task', async () => (await worker.poll({ timeoutMs: 1_000 }))[0]);
    },
    report: (task, outbound) => worker.reportAs(task, { status: 'COMPLETED', outputData: { outbound } }),
    reportAs: ({ taskId, workflowInstanceId }, fields) =>
      call('/conductor/api/tasks', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ taskId, workflowInstanceId, ...fields }),
      }),
  };
  return worker;
}
