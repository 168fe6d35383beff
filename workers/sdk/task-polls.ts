// Polls for tasks: one held poll a task type, for as many tasks as there is room for, and a quiet wait while nothing answers.

import type { Task } from '#lib/conductor/types.ts';
import { backoff, pause } from '../backoff.ts';
import type { OutageLog } from './outage-log.ts';
import type { RouterApi } from './router-api.ts';
import type { InFlightTasks } from './in-flight-tasks.ts';

export interface TaskPollsOptions {
  api: RouterApi;
  work: InFlightTasks;
  availability: OutageLog;
  /** Tasks of one type worked on at once. */
  concurrency: number;
  /** How long the router may hold a poll, in milliseconds. */
  pollTimeoutMs: number;
  /** Aborts when no further task may be asked for. Polls under way are read to their end. */
  stopping: AbortSignal;
  /** Aborts when even those are given up. */
  abandoned: AbortSignal;
}

/** Pauses in milliseconds while the router is away: short enough to be back within a second or two. */
const outagePause = { base: 100, max: 1_000 };
/** Pauses while the router refuses us (401, 403, 400): nothing that mends itself quickly. */
const refusalPause = { base: 200, max: 5_000 };
/** Pauses after empty answers that came long before the poll's time was over. */
const hurriedPause = { base: 20, max: 1_000 };
/** Added to the time of a poll before the router counts as hanging. */
const graceMs = 10_000;

/** Of the query of a poll, what the worker decides; how many tasks it takes is decided here. */
export interface PollQuery {
  readonly workerid?: string;
  readonly domain?: string;
  /** How long the poll may be held, in milliseconds. */
  readonly timeout?: number;
}

/** The outcome of one poll: its tasks, or why there is no answer. */
type Answer = { tasks: readonly Task[] } | { reason: string; refused: boolean };

export class TaskPolls {
  readonly #options: TaskPollsOptions;
  readonly #hurried = new Map<string, number>();

  constructor(options: TaskPollsOptions) {
    this.#options = options;
  }

  /**
   * The tasks that the router hands out; none when there were none or the process is stopping. Waits while there is no
   * room for another task, and for as long as the router or the engine is away.
   */
  async poll(taskType: string, query: PollQuery): Promise<readonly Task[]> {
    const { work, availability, concurrency, stopping } = this.#options;
    const call = `poll ${taskType}`;
    for (let failures = 1; ; failures++) {
      const room = await work.room(taskType, { limit: concurrency, signal: stopping });
      if (room === 0) return [];
      const startedAt = performance.now();
      const answer = await this.#ask(taskType, query, room);
      if ('tasks' in answer) {
        availability.succeeded(call);
        await this.#slowDown(taskType, answer.tasks.length, performance.now() - startedAt);
        return answer.tasks;
      }
      if (stopping.aborted) return [];
      availability.failed(call, answer.reason);
      await pause(backoff(failures, answer.refused ? refusalPause : outagePause), stopping);
    }
  }

  async #ask(taskType: string, query: PollQuery, count: number): Promise<Answer> {
    const { api, work, pollTimeoutMs, abandoned } = this.#options;
    const params = paramsOf(query, count);
    const closePoll = work.openPoll(taskType);
    let tasks: readonly Task[] = [];
    try {
      const { status, text } = await api.call({
        method: 'GET',
        path: `/tasks/poll/batch/${encodeURIComponent(taskType)}?${params}`,
        timeoutMs: pollTimeoutMs + graceMs,
        signal: abandoned,
      });
      if (status === 204) return { tasks };
      if (status !== 200) return { reason: `status ${status}`, refused: isRefusal(status) };
      tasks = parseTasks(text);
      return { tasks };
    } catch (error) {
      return { reason: (error as Error).message, refused: false };
    } finally {
      closePoll(tasks);
    }
  }

  /** Keeps a router that answers at once, without tasks, from turning the poll loop into a hot one. */
  async #slowDown(taskType: string, tasks: number, ms: number): Promise<void> {
    const { pollTimeoutMs, stopping } = this.#options;
    const hurried = tasks === 0 && ms < pollTimeoutMs / 2 ? (this.#hurried.get(taskType) ?? 0) + 1 : 0;
    this.#hurried.set(taskType, hurried);
    if (hurried > 0) await pause(backoff(hurried, hurriedPause), stopping);
  }
}

function paramsOf({ workerid, domain, timeout }: PollQuery, count: number): URLSearchParams {
  const params = new URLSearchParams({ count: String(count) });
  if (timeout !== undefined) params.set('timeout', String(timeout));
  if (workerid !== undefined) params.set('workerid', workerid);
  if (domain !== undefined) params.set('domain', domain);
  return params;
}

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** @throws Error when the text is no list of tasks; its message does not quote the text, which holds clients' data */
function parseTasks(text: string): Task[] {
  const tasks = parseJson(text);
  if (!Array.isArray(tasks)) throw new Error('the poll answered something other than a list of tasks');
  return tasks.filter((task: Partial<Task> | null) => task?.taskId && task.workflowInstanceId) as Task[];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
