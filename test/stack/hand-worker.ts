// A worker that a test controls: it takes tasks from the router and reports their results, one call at a time.

import type { Task } from '#lib/conductor/types.ts';
import { type Caller, callerFor } from './client.ts';
import { pollUntil } from './poll-until.ts';

/** Creates the worker. @param domain task domain whose tasks it takes */
export async function handWorker(url: string, taskType: string, domain: string) {
  const call: Caller = await callerFor(url, 'worker');
  const worker = {
    /** Returns waiting tasks of its type, or those that arrive within `timeoutMs`. */
    async poll({ count = 1, timeoutMs = 5_000 } = {}) {
      const query = `count=${count}&timeout=${timeoutMs}&workerid=by-hand&domain=${domain}`;
      const answer = await call(`/conductor/api/tasks/poll/batch/${taskType}?${query}`);
      if (answer.status !== 200) throw new Error(`poll: ${answer.status} ${answer.text}`);
      return answer.json<Task[]>();
    },
    /** Returns the next task. */
    async take() {
      return pollUntil('a task', async () => (await worker.poll({ timeoutMs: 1_000 }))[0]);
    },
    /** Completes a task with this `outbound`. */
    report: (task: Task, outbound: object) => worker.reportAs(task, { status: 'COMPLETED', outputData: { outbound } }),
    /** Reports any other result. */
    reportAs: ({ taskId, workflowInstanceId }: Task, fields: object) =>
      call('/conductor/api/tasks', {
        method: 'POST',
        json: { taskId, workflowInstanceId, ...fields },
      }),
  };
  return worker;
}

export type HandWorker = Awaited<ReturnType<typeof handWorker>>;
