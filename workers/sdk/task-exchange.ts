// Exchanges results and tasks with the router: one request reports results and waits for the next tasks, of all types.

import type { Task, TaskResult } from '#lib/conductor/types.ts';
import { backoff, pause } from '../backoff.ts';
import type { InFlightTasks } from './in-flight-tasks.ts';
import type { OutageLog } from './outage-log.ts';
import { type OutgoingResult, OutgoingResults, type OutgoingResultsOptions } from './outgoing-results.ts';
import type { RouterApi } from './router-api.ts';

/** Options of {@link TaskExchange}. */
export interface TaskExchangeOptions extends Omit<OutgoingResultsOptions, 'onReady'> {
  api: RouterApi;
  inFlightTasks: InFlightTasks;
  outageLog: OutageLog;
  workerId: string;
  /** Task domain whose tasks are requested; undefined: tasks without a domain. */
  domain: string | undefined;
  /** Maximum number of tasks of one type that run at once. */
  concurrency: number;
  /** How long the router may hold an exchange, in milliseconds. */
  pollTimeoutMs: number;
  /** Aborts when no further tasks are wanted. Open exchanges are read to their end. */
  stopping: AbortSignal;
  /** Aborts open exchanges. */
  abandoned: AbortSignal;
}

/** A task queue that an exchange polls, and the maximum number of tasks to take from it. */
interface Wanted {
  readonly taskType: string;
  readonly domain?: string;
  readonly count: number;
}

/** The tasks of one type on their way to the task runner. */
interface Inbox {
  tasks: Task[];
  /** Number of open exchanges that wait for tasks of this type. */
  exchanges: number;
  /** Maximum number of tasks that open exchanges may return. */
  reserved: number;
  /** Passes tasks to the pending poll of the task runner; undefined while no poll is pending. */
  deliver: ((tasks: readonly Task[]) => void) | undefined;
}

/** The router's response. */
interface ExchangeResponse {
  readonly tasks: readonly Task[];
  /** One status for each result; absent when all results were accepted. */
  readonly statuses?: readonly number[];
  /** Task types whose tasks the worker is not allowed to take. */
  readonly refused?: readonly string[];
  /** True while the engine does not respond. */
  readonly unavailable?: boolean;
}

/**
 * Maximum number of exchanges that wait for tasks of one type. With two exchanges, a worker can receive its next task
 * through one exchange while the other carries a result, and a load balancer can spread the exchanges over two routers.
 */
const maxWaiting = 2;
/** Pauses in milliseconds while the router is unavailable: short, so that work resumes within a second or two. */
const outagePause = { base: 100, max: 1_000 };
/** Pauses while the router rejects exchanges (400, 401, 403, 404), which an operator has to fix. */
const rejectionPause = { base: 200, max: 5_000 };
/** Pauses after empty responses that arrived long before the timeout. */
const emptyPause = { base: 20, max: 1_000 };
/** An exchange fails if it has no response this many milliseconds after its poll timeout. */
const graceMs = 10_000;

/** Passes tasks to the task runners, and their results to the router. Slows down during outages. */
export class TaskExchange {
  readonly #options: TaskExchangeOptions;
  readonly #results: OutgoingResults;
  readonly #inboxes = new Map<string, Inbox>();
  #sendsSoon = false;
  /** True while no tasks are requested, after a failure or an early empty response. */
  #isPaused = false;
  #failures = 0;
  #failedAt = 0;
  #emptyResponses = 0;
  #isStopped = false;

  constructor(options: TaskExchangeOptions) {
    this.#options = options;
    this.#results = new OutgoingResults({ ...options, onReady: () => this.#sendSoon() });
  }

  /** Waits for the next tasks of a type and returns them; none after `stop`. */
  async poll(taskType: string): Promise<readonly Task[]> {
    const inbox = this.#inboxes.get(taskType) ?? { tasks: [], exchanges: 0, reserved: 0, deliver: undefined };
    this.#inboxes.set(taskType, inbox);
    if (inbox.tasks.length > 0) return inbox.tasks.splice(0);
    if (this.#isStopped) return [];
    this.#sendSoon();
    return new Promise((resolve) => {
      inbox.deliver = resolve;
    });
  }

  /**
   * Reports a result. Returns at once; the result is sent again until the engine accepts it or further attempts are
   * pointless.
   */
  update(result: TaskResult): void {
    this.#results.add(result);
  }

  /** Ends all pending polls, which return no tasks. Call it when no exchange is open. */
  stop(): void {
    this.#isStopped = true;
    for (const { deliver } of this.#inboxes.values()) deliver?.([]);
  }

  /** Sends at the end of this turn of the event loop, so that results of one turn are sent together. */
  #sendSoon(): void {
    if (this.#sendsSoon) return;
    this.#sendsSoon = true;
    setImmediate(() => {
      this.#sendsSoon = false;
      for (let batch = this.#results.take(); batch.length > 0; batch = this.#results.take()) this.#exchange(batch);
      if (this.#hasUnpolledType()) this.#exchange([]);
    });
  }

  /** Sends results, and waits for tasks if there is capacity. Does nothing without results and without capacity. */
  #exchange(results: readonly OutgoingResult[]): void {
    const wanted = this.#reserve(results);
    if (results.length === 0 && wanted.length === 0) return;
    const sentAt = performance.now();
    const close = this.#options.inFlightTasks.openExchange();
    void this.#send(wanted, results).then((outcome) => {
      const tasks = 'tasks' in outcome ? outcome.tasks : [];
      close(tasks);
      for (const { taskType, count } of wanted) {
        const inbox = this.#inboxOf(taskType);
        inbox.exchanges -= 1;
        inbox.reserved -= count;
      }
      this.#settle(results, outcome);
      this.#deliver(tasks);
      if ('reason' in outcome) this.#slowDown(wanted, sentAt, outcome);
      else if (outcome.unavailable === true) this.#slowDown(wanted, sentAt, { reason: 'the engine does not respond' });
      else this.#speedUp(wanted, outcome, performance.now() - sentAt);
      this.#sendSoon();
    });
  }

  /**
   * Reserves capacity for the tasks of an exchange: half of the free capacity, so that a second exchange can wait as
   * well.
   */
  #reserve(results: readonly OutgoingResult[]): Wanted[] {
    const { domain, stopping } = this.#options;
    if (stopping.aborted || this.#isPaused) return [];
    // A large result, or one that failed before, is sent without waiting for tasks, so that its response comes at once.
    if (results.some(({ failures, text }) => failures > 0 || text.length > maxHeldLength)) return [];
    const wanted: Wanted[] = [];
    for (const [taskType, inbox] of this.#inboxes) {
      const free = this.#freeOf(taskType, inbox);
      if (free <= 0 || inbox.exchanges >= maxWaiting) continue;
      const count = Math.ceil(free / 2);
      inbox.exchanges += 1;
      inbox.reserved += count;
      wanted.push({ taskType, ...(domain === undefined ? {} : { domain }), count });
    }
    return wanted;
  }

  /** Returns true when a type has free capacity and no exchange waits for tasks of this type. */
  #hasUnpolledType(): boolean {
    return [...this.#inboxes].some(([taskType, inbox]) => inbox.exchanges === 0 && this.#freeOf(taskType, inbox) > 0);
  }

  /** Returns how many more tasks of a type may be requested. */
  #freeOf(taskType: string, { reserved }: Inbox): number {
    const { inFlightTasks, concurrency } = this.#options;
    return concurrency - inFlightTasks.running(taskType) - reserved;
  }

  async #send(
    wanted: readonly Wanted[],
    results: readonly OutgoingResult[],
  ): Promise<ExchangeResponse | { reason: string; status?: number }> {
    const { api, workerId, pollTimeoutMs, abandoned } = this.#options;
    const isWanted = ({ taskDefName }: Task) => this.#inboxes.has(taskDefName);
    const header = JSON.stringify({ workerId, timeout: pollTimeoutMs, wanted });
    try {
      const { status, text } = await api.call({
        method: 'POST',
        path: '/tasks/exchange',
        type: 'application/x-ndjson',
        body: [header, ...results.map((result) => result.text)].join('\n'),
        timeoutMs: pollTimeoutMs + graceMs,
        signal: abandoned,
      });
      return status === 200 ? parseResponse(text, isWanted) : { reason: `status ${status}`, status };
    } catch (error) {
      return { reason: (error as Error).message };
    }
  }

  #settle(results: readonly OutgoingResult[], outcome: ExchangeResponse | { reason: string; status?: number }): void {
    for (const [index, result] of results.entries()) {
      if ('reason' in outcome) {
        // The status of an exchange is conclusive only when the exchange has a single result.
        const isOwn = results.length === 1 && (outcome.status === 413 || outcome.status === 400);
        this.#results.failed(result, outcome.reason, isOwn ? outcome.status : undefined);
        continue;
      }
      const status = outcome.statuses?.[index] ?? 200;
      if (status < 300) this.#results.accepted(result);
      else this.#results.failed(result, `status ${status}`, status);
    }
  }

  #deliver(tasks: readonly Task[]): void {
    for (const task of tasks) this.#inboxOf(task.taskDefName).tasks.push(task);
    for (const inbox of this.#inboxes.values()) {
      if (inbox.tasks.length === 0 || inbox.deliver === undefined) continue;
      const { deliver } = inbox;
      inbox.deliver = undefined;
      deliver(inbox.tasks.splice(0));
    }
  }

  #inboxOf(taskType: string): Inbox {
    return this.#inboxes.get(taskType) as Inbox;
  }

  /** Pauses requests for tasks. Failures of exchanges that were open at the first failure do not count again. */
  #slowDown(wanted: readonly Wanted[], sentAt: number, { reason, status }: { reason: string; status?: number }): void {
    const { outageLog, stopping } = this.#options;
    if (stopping.aborted || sentAt < this.#failedAt) return;
    this.#failedAt = performance.now();
    this.#failures += 1;
    // The router refuses all of these task types.
    if (status === 403) for (const { taskType } of wanted) outageLog.recordAccess(taskType, true);
    else outageLog.failed(reason);
    this.#pause(backoff(this.#failures, isRejection(status) ? rejectionPause : outagePause));
  }

  #speedUp(wanted: readonly Wanted[], { tasks, refused = [], statuses }: ExchangeResponse, ms: number): void {
    const { outageLog, pollTimeoutMs } = this.#options;
    // A result that was not accepted is no sign of an outage: the router reports an outage of the engine as
    // `unavailable`.
    if (statuses === undefined) {
      outageLog.succeeded();
      this.#failures = 0;
    }
    for (const { taskType } of wanted) outageLog.recordAccess(taskType, refused.includes(taskType));
    // Prevents a busy loop when the router responds at once without tasks.
    const isEmpty = wanted.length > 0 && tasks.length === 0 && ms < pollTimeoutMs / 2 && statuses === undefined;
    this.#emptyResponses = isEmpty ? this.#emptyResponses + 1 : 0;
    if (isEmpty) this.#pause(backoff(this.#emptyResponses, emptyPause));
  }

  #pause(ms: number): void {
    // Without this check, each result that fails during a pause would start another pause, and the end of each pause
    // would send polls.
    if (this.#isPaused) return;
    this.#isPaused = true;
    void pause(ms, this.#options.stopping).then(() => {
      this.#isPaused = false;
      this.#sendSoon();
    });
  }
}

/** Maximum length, in characters, of a result whose exchange the router may hold. */
const maxHeldLength = 32_768;

function isRejection(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/**
 * Parses a response. Drops entries that are not tasks, and tasks of types that were not requested.
 * @throws Error when the text is not a response to an exchange. The message does not quote the text, which contains
 *   client data
 */
function parseResponse(text: string, isWanted: (task: Task) => boolean): ExchangeResponse {
  const response = parseJson(text) as ExchangeResponse | undefined;
  if (!Array.isArray(response?.tasks)) throw new Error('the response to the exchange has no list of tasks');
  const isTask = (task: Partial<Task> | null) => Boolean(task?.taskId && task.workflowInstanceId && task.taskDefName);
  return { ...response, tasks: response.tasks.filter((task) => isTask(task) && isWanted(task)) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
