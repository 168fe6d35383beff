// Polls the router for tasks: one long poll per task type, limited by the free capacity, with backoff during outages.

import type { Task } from '#lib/conductor/types.ts';
import { backoff, pause } from '../backoff.ts';
import type { OutageLog } from './outage-log.ts';
import type { RouterApi } from './router-api.ts';
import type { InFlightTasks } from './in-flight-tasks.ts';

/** What {@link TaskPolls} needs, with the limits of its polls. */
export interface TaskPollsOptions {
  api: RouterApi;
  inFlightTasks: InFlightTasks;
  outageLog: OutageLog;
  /** Tasks of one type that run at once. */
  concurrency: number;
  /** How long the router may hold a poll, in milliseconds. */
  pollTimeoutMs: number;
  /** Aborts when no further poll may start. Open polls are read to their end. */
  stopping: AbortSignal;
  /** Aborts open polls. */
  abandoned: AbortSignal;
}

/** Pauses in milliseconds while the router is unavailable: short, so that polling resumes within a second or two. */
const outagePause = { base: 100, max: 1_000 };
/** Pauses while the router rejects polls (400, 401, 403), which an operator has to fix. */
const rejectionPause = { base: 200, max: 5_000 };
/** Pauses after empty responses that arrived long before the poll's time-out. */
const emptyPollPause = { base: 20, max: 1_000 };
/** Added to the time-out of a poll, in milliseconds, before the router counts as hanging. */
const graceMs = 10_000;

/** The query parameters of a poll that the SDK sets. `TaskPolls` adds the number of tasks. */
export interface PollQuery {
  readonly workerid?: string;
  readonly domain?: string;
  /** How long the poll may be held, in milliseconds. */
  readonly timeout?: number;
}

/** The outcome of one poll: its tasks, or the reason of its failure. */
type PollOutcome = { tasks: readonly Task[] } | { reason: string; rejected: boolean };

/** Polls for tasks of any type and slows down during outages. */
export class TaskPolls {
  readonly #options: TaskPollsOptions;
  readonly #emptyPolls = new Map<string, number>();

  constructor(options: TaskPollsOptions) {
    this.#options = options;
  }

  /**
   * Returns the tasks of one poll; an empty list when there were none or the process is stopping. Waits while there is
   * no capacity for another task, and while router or engine are unavailable.
   */
  async poll(taskType: string, query: PollQuery): Promise<readonly Task[]> {
    const { inFlightTasks, outageLog, concurrency, stopping } = this.#options;
    const call = `poll ${taskType}`;
    for (let failures = 1; ; failures++) {
      const capacity = await inFlightTasks.waitForCapacity(taskType, { limit: concurrency, signal: stopping });
      if (capacity === 0) return [];
      const startedAt = performance.now();
      const outcome = await this.#sendPoll(taskType, query, capacity);
      if ('tasks' in outcome) {
        outageLog.succeeded(call);
        await this.#throttleEmptyPolls(taskType, outcome.tasks.length, performance.now() - startedAt);
        return outcome.tasks;
      }
      if (stopping.aborted) return [];
      outageLog.failed(call, outcome.reason);
      await pause(backoff(failures, outcome.rejected ? rejectionPause : outagePause), stopping);
    }
  }

  async #sendPoll(taskType: string, query: PollQuery, count: number): Promise<PollOutcome> {
    const { api, inFlightTasks, pollTimeoutMs, abandoned } = this.#options;
    const params = pollParams(query, count);
    const closePoll = inFlightTasks.openPoll(taskType);
    let tasks: readonly Task[] = [];
    try {
      const { status, text } = await api.call({
        method: 'GET',
        path: `/tasks/poll/batch/${encodeURIComponent(taskType)}?${params}`,
        timeoutMs: pollTimeoutMs + graceMs,
        signal: abandoned,
      });
      if (status === 204) return { tasks };
      if (status !== 200) return { reason: `status ${status}`, rejected: isRejection(status) };
      tasks = parseTasks(text);
      return { tasks };
    } catch (error) {
      return { reason: (error as Error).message, rejected: false };
    } finally {
      closePoll(tasks);
    }
  }

  /** Prevents a busy loop when the router responds at once without tasks. */
  async #throttleEmptyPolls(taskType: string, tasks: number, ms: number): Promise<void> {
    const { pollTimeoutMs, stopping } = this.#options;
    const emptyPolls = tasks === 0 && ms < pollTimeoutMs / 2 ? (this.#emptyPolls.get(taskType) ?? 0) + 1 : 0;
    this.#emptyPolls.set(taskType, emptyPolls);
    if (emptyPolls > 0) await pause(backoff(emptyPolls, emptyPollPause), stopping);
  }
}

function pollParams({ workerid, domain, timeout }: PollQuery, count: number): URLSearchParams {
  const params = new URLSearchParams({ count: String(count) });
  if (timeout !== undefined) params.set('timeout', String(timeout));
  if (workerid !== undefined) params.set('workerid', workerid);
  if (domain !== undefined) params.set('domain', domain);
  return params;
}

function isRejection(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** @throws Error when the text is not a list of tasks. The message does not quote the text, which contains client data. */
function parseTasks(text: string): Task[] {
  const tasks = parseJson(text);
  if (!Array.isArray(tasks)) throw new Error('the response to the poll is not a list of tasks');
  return tasks.filter((task: Partial<Task> | null) => task?.taskId && task.workflowInstanceId) as Task[];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
