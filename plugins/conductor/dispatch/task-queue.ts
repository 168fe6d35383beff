// A queue of held long polls: workers wait here, and tasks are fetched from the engine only when one can exist.

import { Attachment } from '#lib/gc/attachment.ts';
import { BoundedSet } from '#lib/gc/bounded.ts';
import { TransientMap } from '#lib/gc/transient-map.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { startStopwatch } from '#lib/conductor/stopwatch.ts';
import type { Task } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { dispatchedTaskId, parseDispatchedTaskId } from './dispatched-task.ts';
import { requeueTask } from './requeue-task.ts';

/** A worker's long poll. */
export interface Poll {
  /** Most tasks that the response may contain. */
  count: number;
  workerId: string | undefined;
  /** Longest time to hold the poll, in milliseconds. */
  timeoutMs: number;
  /** Aborts when the worker disconnects. */
  signal: AbortSignal;
}

interface HeldPoll {
  count: number;
  workerId: string | undefined;
  taken: Task[];
  release(): void;
}

/** Called with the engine's task when a fetch also returned a task that was dispatched directly. */
export type OnFetched = (task: Task) => void;

/** Dependencies and name of a {@link TaskQueue}. */
export interface TaskQueueOptions {
  engine: Pick<Engine, 'pollTasks' | 'updateTask'>;
  taskType: string;
  /** Undefined: the default pool. */
  domain: string | undefined;
  log: Logger;
}

/** Pause between fetches without an announcement, for tasks of other start paths, retries and time-outs. */
const idleFetchMs = 1_000;
/** Pauses between fetches after `expect`, for example while an event starts a workflow. */
const expectationMs = [10, 15, 25, 40, 60, 100, 150, 250, 400];
/** Pause after a failed fetch; doubles with each failure, up to the idle pause. */
const failedFetchMs = 100;
/** Fetched tasks that no worker takes go back to the engine after this time (milliseconds). */
const requeueAfterMs = 1_000;
/**
 * Tasks fetched longer ago than this (milliseconds) go back to the engine instead of to a worker. This router was
 * suspended in between, and the tasks may have timed out at the engine.
 */
const maxHoldMs = 5_000;
/** Most tasks of one fetch. */
const maxFetchCount = 64;
/** Most ids remembered of fetched tasks, whose executions may still be about to be dispatched directly. */
const maxFetchedIds = 2_000;

/**
 * The queue of one task type in one domain. At most one fetch runs at a time, however many polls are held. Polls are
 * served in order of arrival. A task fetched for a worker that has disconnected goes to the next worker.
 *
 * A task that is dispatched directly stays in the engine's queue until its result arrives. A fetch that returns
 * the task in the meantime does not deliver it a second time.
 */
export class TaskQueue {
  readonly #options: TaskQueueOptions;
  #heldPolls: HeldPoll[] = [];
  /** Tasks without a worker: dispatched directly, or fetched for a worker that has disconnected. */
  #ready: Task[] = [];
  /** Tasks dispatched directly and without a result: the engine's task once a fetch has returned it, else null. */
  readonly #dispatched = new TransientMap<string, Task | null>();
  /** Dispatched tasks that are cancelled and may still be in the engine's queue. */
  readonly #cancelled = new Set<string>();
  /** Milliseconds since the start of the fetch that returned a task. */
  readonly #sinceFetchMs = new Attachment<Task, () => number>('fetch of a task');
  /** Ids of recently fetched tasks: a fetch may return a task before the start of its execution returns. */
  readonly #fetchedIds = new BoundedSet<string>(maxFetchedIds);
  /** Tasks confirmed during a fetch, which may still return them. */
  readonly #confirmed = new TransientMap<string, OnFetched>();
  /** True when the engine may have a task that no fetch has returned. */
  #mayHaveTask = true;
  #fetching = false;
  #failures = 0;
  #expectation = expectationMs.length;
  #timer: NodeJS.Timeout | undefined;
  /** Time of the next fetch without an announcement (performance.now()). Polls may be shorter than a pause. */
  #fetchDueAt = 0;
  #requeueTimer: NodeJS.Timeout | undefined;
  /** Time of the last poll (performance.now()). */
  lastPolledAt = Number.NEGATIVE_INFINITY;

  constructor(options: TaskQueueOptions) {
    this.#options = options;
  }

  /** Number of held polls. */
  get heldPolls(): number {
    return this.#heldPolls.length;
  }

  /** True when this queue has no polls and no tasks, so that it can be deleted. */
  get idle(): boolean {
    return this.#heldPolls.length === 0 && this.#ready.length === 0 && this.#dispatched.size === 0 && !this.#fetching;
  }

  /** True when the last fetch failed. */
  get failing(): boolean {
    return this.#failures > 0;
  }

  /** Resolves with tasks as soon as there are some; with none after the time-out or when the worker disconnects. */
  async poll({ count, workerId, timeoutMs, signal }: Poll): Promise<Task[]> {
    this.lastPolledAt = performance.now();
    if (signal.aborted) return [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const held: HeldPoll = { count: Math.max(1, count), workerId, taken: [], release: resolve };
    const timer = setTimeout(resolve, timeoutMs);
    signal.addEventListener('abort', held.release, { once: true });
    this.#heldPolls.push(held);
    this.#pump();
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', held.release);
    this.#heldPolls = this.#heldPolls.filter((poll) => poll !== held);
    if (this.#heldPolls.length === 0) this.#stopTimer();
    return held.taken;
  }

  /** Returns a task that exists already, for a worker that has just finished one; undefined when there is none. */
  async takeOne(workerId: string | undefined, signal: AbortSignal): Promise<Task | undefined> {
    if (!this.#mayHaveTask && !this.#fetching && this.#ready.length === 0) return undefined;
    const [task] = await this.poll({ count: 1, workerId, timeoutMs: 20, signal });
    return task;
  }

  /** Fetches at once: a task exists, or may exist. */
  announce(): void {
    this.#mayHaveTask = true;
    this.#pump();
  }

  /** Fetches more often for a while: a task may be scheduled within some hundred milliseconds. */
  expect(): void {
    this.#expectation = 0;
    this.#fetchDueAt = performance.now() + this.#pauseMs();
    if (this.#heldPolls.length > 0) this.#startTimer();
  }

  /**
   * Delivers a task that the engine has just scheduled to the next worker that polls, unless a fetch has returned the
   * task already. A call of `confirmDispatch` must follow.
   * @param task its id comes from `dispatchedTaskId`
   */
  dispatchDirectly(task: Task): void {
    if (this.#fetchedIds.delete(task.taskId)) return;
    this.#dispatched.set(task.taskId, null);
    this.#ready.push(task);
    this.#pump();
  }

  /**
   * Stops the delivery of a task that was dispatched directly, under its own id and under the engine's. A call of
   * `confirmDispatch` must follow once the engine has removed the task.
   */
  cancelDispatch(taskId: string): void {
    if (!this.#dispatched.has(taskId)) return;
    this.#cancelled.add(taskId);
    this.#ready = this.#ready.filter((task) => task.taskId !== taskId);
  }

  /**
   * Ends a direct dispatch: the result has arrived, or the engine has removed the task.
   * @param onFetched called if a fetch returned the task too: the engine may have stored that poll after the result
   */
  confirmDispatch(taskId: string, onFetched: OnFetched = () => undefined): void {
    const fetched = this.#dispatched.get(taskId);
    if (fetched === undefined) return;
    this.#dispatched.delete(taskId);
    this.#cancelled.delete(taskId);
    this.#ready = this.#ready.filter((task) => task.taskId !== taskId);
    if (fetched !== null) onFetched(fetched);
    else if (this.#fetching) this.#confirmed.set(taskId, onFetched);
  }

  /** Takes back tasks that did not reach their worker. */
  giveBack(tasks: readonly Task[]): void {
    if (tasks.length === 0) return;
    this.#ready.push(...tasks.flatMap((task) => this.#currentForm(task)));
    this.#pump();
    if (this.#ready.length > 0) this.#requeueTimer ??= setTimeout(() => void this.#requeueReady(), requeueAfterMs);
  }

  /** Ends every held poll without tasks and returns undelivered tasks to the engine. */
  async stop(): Promise<void> {
    for (const held of this.#heldPolls) held.release();
    this.#stopTimer();
    await this.#requeueReady();
  }

  /** What to deliver for a returned task: the task, the engine's task if a fetch has returned it, or nothing. */
  #currentForm(task: Task): Task[] {
    if (parseDispatchedTaskId(task.taskId) === undefined) return [task];
    const fetched = this.#dispatched.get(task.taskId);
    if (fetched === undefined || this.#cancelled.has(task.taskId)) return [];
    if (fetched === null) return [task];
    this.#dispatched.delete(task.taskId);
    return [fetched];
  }

  /** The fetched tasks without those that were dispatched directly. */
  #withoutDispatched(tasks: readonly Task[]): Task[] {
    return tasks.filter((task) => {
      const id = dispatchedTaskId({ executionId: task.workflowInstanceId, referenceName: task.referenceTaskName });
      const onFetched = this.#confirmed.get(id);
      if (onFetched !== undefined) {
        onFetched(task);
        return false;
      }
      if (!this.#dispatched.has(id)) {
        this.#noteFetched(id);
        return true;
      }
      const readyIndex = this.#ready.findIndex(({ taskId }) => taskId === id);
      if (readyIndex < 0) {
        this.#dispatched.set(id, task);
        return false;
      }
      // The engine counts the task as polled now and can time it out: deliver it under the engine's id.
      this.#dispatched.delete(id);
      this.#ready.splice(readyIndex, 1);
      return true;
    });
  }

  #noteFetched(id: string): void {
    this.#fetchedIds.add(id);
  }

  #pump(): void {
    if (this.#ready.length > 0) this.#ready = this.#deliver(this.#ready);
    if (this.#fetching || this.#heldPolls.length === 0) return;
    if (this.#mayHaveTask) void this.#fetch();
    else if (this.#timer === undefined) this.#startTimer();
  }

  async #fetch(): Promise<void> {
    this.#fetching = true;
    this.#mayHaveTask = false;
    this.#stopTimer();
    const polls = this.#heldPolls;
    const count = Math.min(
      maxFetchCount,
      polls.reduce((sum, poll) => sum + poll.count, 0),
    );
    const { engine, taskType, domain, log } = this.#options;
    const sinceFetchMs = startStopwatch();
    try {
      const workerId = polls[0]?.workerId;
      const tasks = await engine.pollTasks(taskType, {
        count,
        ...(domain === undefined ? {} : { domain }),
        ...(workerId === undefined ? {} : { workerId }),
      });
      for (const task of tasks) this.#sinceFetchMs.set(task, sinceFetchMs);
      this.#failures = 0;
      // After a full batch there may be more.
      if (tasks.length >= count) this.#mayHaveTask = true;
      if (tasks.length > 0) this.#expectation = expectationMs.length;
      this.giveBack(this.#deliver(this.#withoutDispatched(tasks)));
    } catch (error) {
      // An engine that is starting has no tasks, so this is no failure.
      const isStarting = error instanceof EngineError && error.isStarting;
      if (!isStarting) this.#failures += 1;
      if (this.#failures === 1)
        log.warn({ taskType, domain, ...errorFields(error) }, 'could not fetch tasks from the engine');
    }
    this.#fetching = false;
    this.#confirmed.clear();
    this.#fetchDueAt = performance.now() + this.#pauseMs();
    if (this.#heldPolls.length === 0) return;
    if (this.#mayHaveTask) this.#pump();
    else this.#startTimer();
  }

  /**
   * Delivers tasks round-robin: one to each poll in order of arrival, again until each poll has its count.
   * @returns tasks that no poll took
   */
  #deliver(tasks: readonly Task[]): Task[] {
    const undelivered = tasks.filter((task) => this.#mayDeliver(task));
    const served = new Set<HeldPoll>();
    while (undelivered.length > 0) {
      const open = this.#heldPolls.filter((poll) => poll.taken.length < poll.count);
      if (open.length === 0) break;
      for (const poll of open.slice(0, undelivered.length)) {
        poll.taken.push(...undelivered.splice(0, 1));
        served.add(poll);
      }
    }
    this.#heldPolls = this.#heldPolls.filter((poll) => !served.has(poll));
    for (const poll of served) poll.release();
    return undelivered;
  }

  /** False for a task that was held too long and goes back to the engine. Dispatched tasks are still queued there. */
  #mayDeliver(task: Task): boolean {
    const heldMs = this.#sinceFetchMs.get(task)?.() ?? Infinity;
    if (parseDispatchedTaskId(task.taskId) !== undefined || heldMs <= maxHoldMs) return true;
    void requeueTask(task, this.#options);
    return false;
  }

  #startTimer(): void {
    clearTimeout(this.#timer);
    const fetch = () => {
      this.#timer = undefined;
      this.announce();
    };
    this.#timer = setTimeout(fetch, Math.max(0, this.#fetchDueAt - performance.now()));
  }

  #pauseMs(): number {
    if (this.#failures > 0) return Math.min(failedFetchMs * 2 ** this.#failures, idleFetchMs);
    const soon = expectationMs[this.#expectation];
    if (soon === undefined) return idleFetchMs * (0.9 + 0.2 * Math.random());
    this.#expectation += 1;
    return soon;
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Returns fetched tasks without a worker to the engine. Dispatched tasks are still in the engine's queue. */
  async #requeueReady(): Promise<void> {
    clearTimeout(this.#requeueTimer);
    this.#requeueTimer = undefined;
    const fetchedTasks = this.#ready.filter(({ taskId }) => parseDispatchedTaskId(taskId) === undefined);
    this.#ready = this.#ready.filter(({ taskId }) => parseDispatchedTaskId(taskId) !== undefined);
    await Promise.all(fetchedTasks.map((task) => requeueTask(task, this.#options)));
  }
}
