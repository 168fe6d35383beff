// Queues task results for the engine: they are sent in batches, and resent until the engine accepts them or has timed
// the task out.

import type { TaskResult } from '#lib/conductor/types.ts';
import { isRetryableStatus } from '#lib/http/statuses.ts';
import { formatFailure } from '#lib/envelope/failure.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { backoff } from '../backoff.ts';
import { joinFields } from '../json-text.ts';
import type { InFlightTask, InFlightTasks } from './in-flight-tasks.ts';

/** A result that the engine has not accepted yet. */
export interface OutgoingResult {
  readonly result: TaskResult;
  /** The result as JSON, which has no line break. */
  readonly text: string;
  /** The delivery of the task that the result belongs to; undefined when it is unknown. */
  readonly task: InFlightTask | undefined;
  /** When to give up (performance.now()). */
  readonly until: number;
  /** Number of attempts that have failed. */
  failures: number;
}

/** Options of {@link OutgoingResults}. */
export interface OutgoingResultsOptions {
  inFlightTasks: InFlightTasks;
  log: Logger;
  /** Aborts the retries: results that have not been accepted are abandoned. */
  abandoned: AbortSignal;
  /** Called when there are results to send. */
  onReady: () => void;
}

/** Pauses between attempts to send one result, in milliseconds. */
const retryPause = { base: 50, max: 1_000 };
/**
 * A result is retried for this many response timeouts of its task. An engine that was unavailable during this time
 * could not time the task out, so it still accepts the result.
 */
const retryResponseTimeouts = 2;
/** Minimum time in milliseconds for which a result is retried, even for tasks without a response timeout. */
const minRetryMs = 60_000;
/**
 * Maximum number of characters in a batch of several results: larger bodies may have to wait for the router's memory
 * budget.
 */
const maxBatchLength = 32_768;

/** Queues results for the next exchange. */
export class OutgoingResults {
  readonly #options: OutgoingResultsOptions;
  #ready: OutgoingResult[] = [];
  readonly #retries = new Map<NodeJS.Timeout, OutgoingResult>();

  constructor(options: OutgoingResultsOptions) {
    this.#options = options;
    options.abandoned.addEventListener('abort', () => this.#giveUpAll(), { once: true });
  }

  /** Queues the result of a task. */
  add(result: TaskResult): void {
    const { inFlightTasks } = this.#options;
    const task = inFlightTasks.get(result.taskId);
    inFlightTasks.finished(result.taskId);
    this.#queue({ result, text: textOf(result), task, until: deadlineOf(task), failures: 0 });
  }

  /** Removes and returns the results for the next exchange; an empty list when there are none. */
  take(): OutgoingResult[] {
    let length = 0;
    const end = this.#ready.findIndex(({ text, failures }, index) => {
      length += text.length;
      // After a failure, a result is sent alone: another result of its batch may have caused the failure.
      return index > 0 && (length > maxBatchLength || failures > 0 || (this.#ready[0]?.failures ?? 0) > 0);
    });
    return this.#ready.splice(0, end < 0 ? this.#ready.length : end);
  }

  /** Removes a result that the engine has accepted. */
  accepted({ result, task }: OutgoingResult): void {
    this.#options.inFlightTasks.remove(result.taskId, task);
  }

  /**
   * Sends a result again after a pause, or abandons it.
   * @param status status in the router's response to this result; undefined when the whole exchange has failed
   */
  failed(outgoing: OutgoingResult, reason: string, status?: number): void {
    const { abandoned } = this.#options;
    if (status !== undefined && isPermanentRejection(status)) return this.#reject(outgoing, reason);
    if (abandoned.aborted || performance.now() >= outgoing.until) return this.#giveUp(outgoing, reason);
    // When a whole exchange fails, the start of the outage is logged instead.
    if (status !== undefined && outgoing.failures === 0) this.#logRejection(outgoing, reason, 'warn');
    outgoing.failures += 1;
    const timer = setTimeout(
      () => {
        this.#retries.delete(timer);
        this.#queue(outgoing);
      },
      backoff(outgoing.failures, retryPause),
    );
    this.#retries.set(timer, outgoing);
  }

  #queue(outgoing: OutgoingResult): void {
    this.#ready.push(outgoing);
    this.#options.onReady();
  }

  /** Reports a failure in place of a result that the engine rejects, so that a waiting client gets a response. */
  #reject(outgoing: OutgoingResult, reason: string): void {
    const { result } = outgoing;
    if (result.status !== 'COMPLETED') return this.#giveUp(outgoing, reason);
    this.#logRejection(outgoing, reason);
    // The task stays in flight, so that a drain waits until the engine has accepted the failure.
    this.#queue({ ...outgoing, ...replacementOf(result), failures: 0 });
  }

  #giveUp(outgoing: OutgoingResult, reason: string): void {
    this.#options.inFlightTasks.remove(outgoing.result.taskId, outgoing.task);
    this.#logRejection(outgoing, reason);
  }

  #logRejection({ result, task }: OutgoingResult, reason: string, level: 'warn' | 'error' = 'error'): void {
    const { workflowInstanceId: executionId, status: outcome } = result;
    const fields = { taskType: task?.taskType, executionId, outcome, reason };
    this.#options.log[level](fields, `the engine did not accept a result${level === 'warn' ? '; retrying' : ''}`);
  }

  #giveUpAll(): void {
    const waiting = [...this.#ready.splice(0), ...this.#retries.values()];
    for (const timer of this.#retries.keys()) clearTimeout(timer);
    this.#retries.clear();
    for (const outgoing of waiting) this.#giveUp(outgoing, 'not accepted within workers.drainMs');
  }
}

function textOf({ outputData = {}, ...others }: TaskResult): string {
  return `${JSON.stringify(others).slice(0, -1)},"outputData":${joinFields(outputData)}}`;
}

function deadlineOf(task: InFlightTask | undefined): number {
  const { responseTimeoutSeconds = 0, receivedAt = performance.now() } = task ?? {};
  return receivedAt + Math.max(minRetryMs, responseTimeoutSeconds * 1_000 * retryResponseTimeouts);
}

/** Returns true for statuses that a retry cannot change: the engine does not know the task or rejects the result. */
function isPermanentRejection(status: number): boolean {
  return status >= 400 && ![401, 403, 409].includes(status) && !isRetryableStatus(status);
}

function replacementOf({ taskId, workflowInstanceId, workerId }: TaskResult): Pick<OutgoingResult, 'result' | 'text'> {
  const result: TaskResult = {
    taskId,
    workflowInstanceId,
    ...(workerId === undefined ? {} : { workerId }),
    status: 'FAILED_WITH_TERMINAL_ERROR',
    reasonForIncompletion: formatFailure(
      'back-end-bad-answer',
      'the engine rejected the response; a change may have been applied',
    ),
  };
  return { result, text: JSON.stringify(result) };
}
