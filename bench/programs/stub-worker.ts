// A worker whose tasks take no time: it makes the same exchanges with the router as the product's workers, and does
// nothing else.

import { createLog } from '#lib/telemetry/logging/log.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { InFlightTasks } from '../../workers/sdk/in-flight-tasks.ts';
import { OutageLog } from '../../workers/sdk/outage-log.ts';
import { RouterApi } from '../../workers/sdk/router-api.ts';
import { TaskExchange } from '../../workers/sdk/task-exchange.ts';
import { taskOutput } from '../targets/execution.ts';

await runProgram('stub-worker', async (log) => {
  const api = new RouterApi({
    apiURL: `${process.env['BENCH_ROUTER'] ?? ''}/conductor/api`,
    clientId: 'worker',
    clientSecret: 'worker-secret',
    timeoutMs: 10_000,
  });
  const [stopping, abandoned] = [new AbortController(), new AbortController()];
  const exchange = new TaskExchange({
    ...{ api, log, inFlightTasks: new InFlightTasks(), outageLog: new OutageLog(createLog('stub-worker', 'silent')) },
    ...{ workerId: 'stub', domain: undefined, concurrency: 128, pollTimeoutMs: 5_000 },
    ...{ stopping: stopping.signal, abandoned: abandoned.signal },
  });
  const work = async () => {
    while (!stopping.signal.aborted) {
      for (const { taskId, workflowInstanceId } of await exchange.poll('movies_intake')) {
        exchange.update({ taskId, workflowInstanceId, status: 'COMPLETED', workerId: 'stub', outputData: taskOutput });
      }
    }
  };
  work().catch((error: Error) => log.fatal(error.message));
  return {
    ready: { taskType: 'movies_intake' },
    async stop() {
      stopping.abort();
      abandoned.abort();
      exchange.stop();
      await api.close();
    },
  };
});
