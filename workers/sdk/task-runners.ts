// Starts one task runner of the Conductor SDK for each worker.

import { TaskRunner } from '@io-orkes/conductor-javascript';
import type { Task } from '#lib/conductor/types.ts';
import type { TaskOutcome, Worker } from '../worker.ts';

/** Options of {@link startTaskRunners}. */
export interface TaskRunnersOptions {
  /** Workers whose `execute` never rejects; after a rejection, the SDK would send a stack trace to the engine. */
  workers: readonly Worker[];
  client: ConstructorParameters<typeof TaskRunner>[0]['client'];
  workerId: string;
  /** Task domain that is polled; undefined: tasks without a domain. */
  domain: string | undefined;
  /** Maximum number of tasks of one type that run at once. */
  concurrency: number;
}

/** Starts one runner for each worker. @returns a function that stops polling; in-flight tasks continue */
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
          // A runner at its limit checks again every pollInterval. With a limit that is one too high, the runner stays
          // inside a poll instead, and the exchange waits for capacity (task-exchange.ts).
          concurrency: options.concurrency + 1,
          pollInterval: 0,
        },
        // The SDK waits ten seconds before it retries an update; outgoing-results.ts retries sooner.
        maxRetries: 1,
      }),
  );
  for (const runner of runners) runner.startPolling();
  return async () => {
    await Promise.all(runners.map((runner) => runner.stopPolling()));
  };
}

/** The part of {@link TaskOutcome} that the SDK's types accept as the result of `execute`. */
type SdkOutcome = Extract<TaskOutcome, { status: 'IN_PROGRESS' }>;
