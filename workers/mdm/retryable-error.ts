// What happens while MDM or an adaptor is away: the engine hands the task out again, ever later, until the window is over.

import type { Task } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';
import { backoff } from '../backoff.ts';
import { TaskFailure } from '../task-failure.ts';
import type { TaskOutcome } from '../worker.ts';

/** Somebody is away or busy; the same call may succeed later. The message says who and how. */
export class RetryableError extends Error {
  override readonly name = 'TryLater';
}

/** Runs `attempt`; when it throws {@link RetryableError}, the task stays in progress. `progress` survives until the next try. */
export async function untilDelivered(
  task: Task,
  config: Config,
  attempt: (progress: Record<string, unknown>) => Promise<TaskOutcome>,
): Promise<TaskOutcome> {
  const progress = { ...(task['outputData'] as Record<string, unknown> | undefined) };
  try {
    return await attempt(progress);
  } catch (error) {
    if (!(error instanceof RetryableError)) throw error;
    return retryLater(task, config, { ...progress, waitingFor: error.message });
  }
}

/** @throws TaskFailure when `mdm.retryWindowSeconds` since the task was scheduled are over */
function retryLater(task: Task, config: Config, outputData: { waitingFor: string }): TaskOutcome {
  const windowSeconds = config['mdm.retryWindowSeconds'];
  const leftSeconds = windowSeconds - (Date.now() - scheduledAt(task)) / 1_000;
  if (leftSeconds <= 0) throw new TaskFailure(`${outputData.waitingFor}; tried for ${windowSeconds} s`);
  const tries = Math.max(1, Number(task['pollCount'] ?? 1));
  const pauseSeconds = backoff(tries, { base: 2, max: config['mdm.retryMaxDelaySeconds'] });
  return {
    status: 'IN_PROGRESS',
    // The last try comes at the end of the window, not beyond it.
    callbackAfterSeconds: Math.max(1, Math.round(Math.min(pauseSeconds, leftSeconds))),
    outputData: { ...outputData, tries },
  };
}

/** Milliseconds since the epoch. The engine may move `scheduledTime` when it hands a task out again: the earliest counts. */
function scheduledAt(task: Task): number {
  const times = [task['scheduledTime'], task['startTime']].map(Number).filter((time) => time > 0);
  return times.length === 0 ? Date.now() : Math.min(...times);
}
