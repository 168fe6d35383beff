// Retries MDM tasks while MDM or an adaptor is unavailable: the engine reschedules a task until its retry window ends.

import type { Task } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';
import { backoff } from '../backoff.ts';
import { TaskFailure } from '../task-failure.ts';
import type { TaskOutcome } from '../worker.ts';

/**
 * Thrown when the called system is unavailable or busy: the same call may succeed later. The message names the system.
 */
export class RetryableError extends Error {
  override readonly name = 'RetryableError';
}

/**
 * Runs `attempt`. When it throws {@link RetryableError}, the outcome is IN_PROGRESS and the engine schedules the task
 * again. `progress` is stored in the task's output and passed to the next attempt.
 */
export async function retryUntilDelivered(
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

/** @throws TaskFailure when `mdm.retryWindowSeconds` have passed since a worker first received the task */
function retryLater(task: Task, config: Config, outputData: { waitingFor: string }): TaskOutcome {
  const windowSeconds = config['mdm.retryWindowSeconds'];
  const leftSeconds = windowSeconds - (Date.now() - firstReceivedAt(task)) / 1_000;
  if (leftSeconds <= 0) throw new TaskFailure(`${outputData.waitingFor}; tried for ${windowSeconds} s`);
  const tries = Math.max(1, Number(task['pollCount'] ?? 1));
  const pauseSeconds = backoff(tries, { base: 2, max: config['mdm.retryMaxDelaySeconds'] });
  return {
    status: 'IN_PROGRESS',
    // The last attempt is at the end of the window, or at most a second later.
    callbackAfterSeconds: Math.max(1, Math.round(Math.min(pauseSeconds, leftSeconds))),
    outputData: { ...outputData, tries },
  };
}

/**
 * Returns the time at which a worker first received the task, in milliseconds since 1970. The time in the queue does
 * not count, because no attempt was possible while no worker polled. The engine sets `startTime` at the first poll of a
 * task, and does not change it when it schedules the task again.
 */
function firstReceivedAt(task: Task): number {
  const times = [task['startTime'], task['scheduledTime']].map(Number);
  return times.find((time) => time > 0) ?? Date.now();
}
