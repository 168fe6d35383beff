// Starts one task runner of the Conductor SDK for each worker.

import { TaskRunner } from '@io-orkes/conductor-javascript';
import type { Task } from '#lib/conductor/types.ts';
import type { TaskOutcome, Worker } from '../worker.ts';

/** Workers, client and limits of {@link startTaskRunners}. */
export interface TaskRunnersOptions {
  /** Workers whose `execute` never rejects: the SDK would send a stack trace to the engine. */
  workers: readonly Worker[];
  client: ConstructorParameters<typeof TaskRunner>[0]['client'];
  workerId: string;
  /** Task domain that is polled; undefined: tasks without a domain. */
  domain: string | undefined;
  /** Tasks of one type that run at once. */
  concurrency: number;
  /** How long the router may hold a poll, in milliseconds. */
  pollTimeoutMs: number;
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
          batchPollingTimeout: options.pollTimeoutMs,
          // A runner at its limit checks again every pollInterval. One more than the real limit keeps the runner
          // inside a poll instead, and the poll waits for capacity (task-polls.ts).
          concurrency: options.concurrency + 1,
          pollInterval: 0,
        },
        // The SDK waits ten seconds before it retries an update; task-updates.ts retries sooner.
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
