// Reports results: again and again, quickly, until the engine has them or has stopped waiting for them.

import type { TaskResult } from '#lib/conductor/types.ts';
import { formatFailure } from '#lib/envelope/failure.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { backoff, pause } from '../backoff.ts';
import type { OutageLog } from './outage-log.ts';
import type { RouterApi } from './router-api.ts';
import type { TaskInHand, InFlightTasks } from './in-flight-tasks.ts';

export interface TaskUpdatesOptions {
  api: RouterApi;
  work: InFlightTasks;
  availability: OutageLog;
  log: Logger;
  /** Aborts when results that are not yet accepted are given up. */
  abandoned: AbortSignal;
}

/** Pauses in milliseconds between tries of one update. */
const retryPause = { base: 50, max: 1_000 };
/**
 * A result is offered for this many response time-outs: an engine that was away that long has not yet noticed that
 * the task is late, and takes the result.
 */
const responseTimeouts = 2;
/** Shortest time a result is offered, in milliseconds; also the time for tasks without a response time-out. */
const shortestOfferMs = 60_000;

export class TaskUpdates {
  readonly #options: TaskUpdatesOptions;

  constructor(options: TaskUpdatesOptions) {
    this.#options = options;
  }

  /** Reports one result; resolves when the engine has it, or when there is no point in going on. Never rejects. */
  async update(result: TaskResult): Promise<void> {
    const { work, log } = this.#options;
    const body = JSON.stringify(result);
    const held = work.find(result.taskId);
    try {
      const refusal = await this.#offer(body, held);
      if (refusal === null) return;
      log.error({ ...fieldsOf(result, held), reason: refusal }, 'the engine did not take a result');
      if (result.status === 'COMPLETED' && /^status 4/.test(refusal)) await this.#offer(replacement(result), held);
    } finally {
      work.done(result.taskId);
    }
  }

  /** Null when the update was accepted, else why not. */
  async #offer(body: string, held: TaskInHand | undefined): Promise<string | null> {
    const { api, availability, abandoned } = this.#options;
    const until = deadlineOf(held);
    for (let failures = 1; ; failures++) {
      let reason: string;
      try {
        const { status } = await api.call({ method: 'POST', path: '/tasks', body, signal: abandoned });
        if (status < 300) {
          availability.succeeded('update');
          return null;
        }
        reason = `status ${status}`;
        if (isFinal(status)) return reason;
      } catch (error) {
        reason = (error as Error).message;
      }
      if (abandoned.aborted || performance.now() >= until) return reason;
      availability.failed('update', reason);
      await pause(backoff(failures, retryPause), abandoned);
    }
  }
}

function deadlineOf(held: TaskInHand | undefined): number {
  const offerMs = Math.max(shortestOfferMs, (held?.responseTimeoutSeconds ?? 0) * 1_000 * responseTimeouts);
  return (held?.receivedAt ?? performance.now()) + offerMs;
}

/** Statuses that another try would only get again: the engine does not know the task, or will not have the result. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && ![401, 403, 408, 409, 425, 429].includes(status);
}

/** What is reported when the engine refuses a result itself: a client that waits gets an answer. */
function replacement({ taskId, workflowInstanceId, workerId }: TaskResult): string {
  const reason = formatFailure('back-end-bad-answer', 'the engine refuses the answer; a change may have been applied');
  return JSON.stringify({
    taskId,
    workflowInstanceId,
    workerId,
    status: 'FAILED_WITH_TERMINAL_ERROR',
    reasonForIncompletion: reason,
  });
}

function fieldsOf(result: TaskResult, held: TaskInHand | undefined): Record<string, unknown> {
  return { taskType: held?.taskType, executionId: result.workflowInstanceId, outcome: result.status };
}
