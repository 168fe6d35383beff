// Reports task results to the engine, with retries until the engine accepts them or has timed the task out.

import type { TaskResult } from '#lib/conductor/types.ts';
import { isRetryableStatus } from '#lib/http/statuses.ts';
import { formatFailure } from '#lib/envelope/failure.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { backoff, pause } from '../backoff.ts';
import type { OutageLog } from './outage-log.ts';
import type { RouterApi } from './router-api.ts';
import type { InFlightTask, InFlightTasks } from './in-flight-tasks.ts';

/** What {@link TaskUpdates} needs. */
export interface TaskUpdatesOptions {
  api: RouterApi;
  inFlightTasks: InFlightTasks;
  outageLog: OutageLog;
  log: Logger;
  /** Aborts the retries: results that were not accepted are given up. */
  abandoned: AbortSignal;
}

/** Pauses in milliseconds between attempts of one update. */
const retryPause = { base: 50, max: 1_000 };
/**
 * A result is retried for this many response time-outs: an engine that was unavailable that long has not yet timed
 * the task out and accepts the result.
 */
const retryResponseTimeouts = 2;
/** Minimum time in milliseconds for which a result is retried, also for tasks without a response time-out. */
const minRetryMs = 60_000;

/** Reports the results of tasks to the engine, through the router. */
export class TaskUpdates {
  readonly #options: TaskUpdatesOptions;

  constructor(options: TaskUpdatesOptions) {
    this.#options = options;
  }

  /** Reports one result. Resolves when the engine has accepted it or retries are pointless. Never rejects. */
  async update(result: TaskResult): Promise<void> {
    const { inFlightTasks, log } = this.#options;
    const body = JSON.stringify(result);
    const task = inFlightTasks.get(result.taskId);
    try {
      const rejection = await this.#send(body, task);
      if (rejection === null) return;
      log.error({ ...fieldsOf(result, task), reason: rejection }, 'the engine did not accept a result');
      if (result.status === 'COMPLETED' && /^status 4/.test(rejection)) await this.#send(replacement(result), task);
    } finally {
      inFlightTasks.remove(result.taskId);
    }
  }

  /** Returns null when the update was accepted, else the reason of the failure. */
  async #send(body: string, task: InFlightTask | undefined): Promise<string | null> {
    const { api, outageLog, abandoned } = this.#options;
    const until = retryDeadlineOf(task);
    for (let failures = 1; ; failures++) {
      let reason: string;
      try {
        const { status } = await api.call({ method: 'POST', path: '/tasks', body, signal: abandoned });
        if (status < 300) {
          outageLog.succeeded('update');
          return null;
        }
        reason = `status ${status}`;
        if (isPermanentRejection(status)) return reason;
      } catch (error) {
        reason = (error as Error).message;
      }
      if (abandoned.aborted || performance.now() >= until) return reason;
      outageLog.failed('update', reason);
      await pause(backoff(failures, retryPause), abandoned);
    }
  }
}

function retryDeadlineOf(task: InFlightTask | undefined): number {
  const retryMs = Math.max(minRetryMs, (task?.responseTimeoutSeconds ?? 0) * 1_000 * retryResponseTimeouts);
  return (task?.receivedAt ?? performance.now()) + retryMs;
}

/** Returns true for statuses that a retry cannot change: the engine does not know the task or rejects the result. */
function isPermanentRejection(status: number): boolean {
  return status >= 400 && ![401, 403, 409].includes(status) && !isRetryableStatus(status);
}

/** Returns the failure that is reported when the engine rejects a result, so that a waiting client gets a response. */
function replacement({ taskId, workflowInstanceId, workerId }: TaskResult): string {
  const reason = formatFailure(
    'back-end-bad-answer',
    'the engine rejected the response; a change may have been applied',
  );
  return JSON.stringify({
    taskId,
    workflowInstanceId,
    workerId,
    status: 'FAILED_WITH_TERMINAL_ERROR',
    reasonForIncompletion: reason,
  });
}

function fieldsOf(result: TaskResult, task: InFlightTask | undefined): Record<string, unknown> {
  return { taskType: task?.taskType, executionId: result.workflowInstanceId, outcome: result.status };
}
