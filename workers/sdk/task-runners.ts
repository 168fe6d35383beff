// One task runner of the Conductor SDK for each worker.

import { TaskRunner } from '@io-orkes/conductor-javascript';
import type { Task } from '#lib/conductor/types.ts';
import type { TaskOutcome, Worker } from '../worker.ts';

export interface TaskRunnersOptions {
  /** Workers whose `execute` never rejects: the SDK would send a stack trace to the engine. */
  workers: readonly Worker[];
  client: ConstructorParameters<typeof TaskRunner>[0]['client'];
  workerId: string;
  domain: string | undefined;
  concurrency: number;
  pollTimeoutMs: number;
}

/** Starts them; the function stops them from asking for tasks. Tasks in hand go on. */
export function startTaskRunners(options: TaskRunnersOptions): () => Promise<void> {
  const { client, workers } = options;
  const runners = workers.map(
    ({ taskDefName, execute }) =>
      new TaskRunner({
        client,
        worker: { taskDefName, execute: (task) => execute(task as Task) as Promise<SdkOutcome> },
        options: {
          workerID: options.workerId,
          domain: options.domain,
          batchPollingTimeout: options.pollTimeoutMs,
          // A runner at its limit wakes up every pollInterval to see whether it still is. One place more than we use
          // keeps it inside a poll instead, and the poll waits for room (task-polls.ts).
          concurrency: options.concurrency + 1,
          pollInterval: 0,
        },
        // The SDK pauses ten seconds before it repeats an update; task-updates.ts has repeated it already.
        maxRetries: 1,
      }),
  );
  for (const runner of runners) runner.startPolling();
  return async () => {
    await Promise.all(runners.map((runner) => runner.stopPolling()));
  };
}

/** The SDK's own word for {@link TaskOutcome}. */
type SdkOutcome = Extract<TaskOutcome, { status: 'IN_PROGRESS' }>;
