// A worker that takes what the router hands out and completes it at once, in large batches.

import type { Task } from '#lib/conductor/types.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { taskOutput } from '../targets/execution.ts';
import { HttpClient } from '../targets/http-client.ts';

/** Tasks it takes at once. */
const count = 64;
const poll = `/conductor/api/tasks/poll/batch/movies_intake?count=${count}&timeout=5000&workerid=stub`;

await runProgram('stub-worker', async (log) => {
  const { BENCH_ROUTER = '', BENCH_TOKEN = '' } = process.env;
  const headers = { authorization: `Bearer ${BENCH_TOKEN}` };
  const router = new HttpClient(BENCH_ROUTER, 2 * count);
  let stopping = false;
  const complete = async ({ taskId, workflowInstanceId }: Task) => {
    const result = { taskId, workflowInstanceId, status: 'COMPLETED', workerId: 'stub', outputData: taskOutput };
    await router.text({ method: 'POST', path: '/conductor/api/tasks', headers, body: JSON.stringify(result) });
  };
  const work = async () => {
    while (!stopping) {
      for (const task of await router.json<Task[]>({ path: poll, headers })) {
        complete(task).catch((error: Error) => log.error(error.message));
      }
    }
  };
  work().catch((error: Error) => stopping || log.fatal(error.message));
  return {
    ready: { taskType: 'movies_intake' },
    async stop() {
      stopping = true;
      await router.destroy();
    },
  };
});
