// A queue of held long polls: workers wait here, and tasks are fetched from the engine only when a task may exist.

import { Attachment } from '#lib/gc/attachment.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { directDomain } from '#lib/conductor/executions/direct-domain.ts';
import { startStopwatch } from '#lib/conductor/stopwatch.ts';
import type { Task } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { type Fetch, isInTime } from './fetch.ts';
import { firstOfEachWorker, type HeldPoll, holdPoll, type PolledQueue } from './held-poll.ts';
import { isDispatchedTaskId } from './dispatched-task.ts';
import { requeueTask } from './requeue-task.ts';
import { Reservation } from './reservation.ts';

/**
 * What is waiting in a queue. `poll`: a held poll. `busy`: a poll arrived while tasks were waiting. `task`: a
 * dispatched task for which no poll is held here.
 */
export type Waiting = 'poll' | 'busy' | 'task';

/** Dependencies and name of a {@link TaskQueue}. */
export interface TaskQueueOptions {
  engine: Pick<Engine, 'pollTasks' | 'updateTask'>;
  taskType: string;
  /** Undefined for the default pool. */
  domain: string | undefined;
  log: Logger;
  /** Called when another router may have a task for a poll here, or a poll for a task here. */
  onWaiting?: (waiting: Waiting) => void;
}

/**
 * Pause between fetches without an announcement. Such fetches find tasks that no router announces, such as retries
 * after a failure or a timeout.
 */
const idleFetchMs = 1_000;
/** Pauses between fetches after `expect`, for example while an event starts a workflow. */
const expectationMs = [10, 15, 25, 40, 60, 100, 150, 250, 400];
/**
 * Half of the pause after the first failed fetch (milliseconds). The pause doubles with each failure, up to the idle
 * pause.
 */
const failedFetchMs = 100;
/** Fetched tasks that no worker takes go back to the engine after this time (milliseconds). */
const requeueAfterMs = 1_000;
/** Maximum number of tasks that one fetch takes. */
const maxFetchCount = 64;
/**
 * Pause between searches for dispatched tasks whose router has stopped (milliseconds). The first poll starts a search.
 */
const orphanSearchMs = 300_000;
/**
 * When a dispatched task has waited this long in the engine (milliseconds), its router counts as stopped, because with
 * the default limits no client waits longer.
 */
const orphanAgeMs = 120_000;

/**
 * The queue of one task type in one domain. At most one fetch runs at a time, however many polls are held. Polls are
 * served in order of arrival. A task fetched for a worker that has disconnected goes to the next worker.
 *
 * The engine keeps a directly dispatched task in the queue of another domain until its result arrives, so fetches for
 * this queue do not return the task.
 */
export class TaskQueue implements PolledQueue {
  readonly #options: TaskQueueOptions;
  #heldPolls: HeldPoll[] = [];
  /** Tasks without a worker: dispatched directly, or fetched for a worker that has disconnected. */
  #ready: Task[] = [];
  readonly #fetchOf = new Attachment<Task, Fetch>('fetch of a task');
  /** True when the engine may have a task that no fetch has returned. */
  #mayHaveTask = true;
  #fetch: Promise<void> | undefined;
  readonly #reservation = new Reservation();
  /**
   * True when the latest fetch has returned tasks. The next poll then gets ready tasks instead of being reserved for a
   * fetch.
   */
  #isTurnOfReady = false;
  #failures = 0;
  #expectation = expectationMs.length;
  #timer: NodeJS.Timeout | undefined;
  /**
   * Time of the next fetch without an announcement (performance.now()). The time is kept while no poll is held, because
   * polls may be shorter than the pause between two fetches.
   */
  #fetchDueAt = 0;
  #orphanSearchDueAt = 0;
  #deliversSoon = false;
  #requeueTimer: NodeJS.Timeout | undefined;
  /** Time of the last poll (performance.now()). */
  lastPolledAt = Number.NEGATIVE_INFINITY;

  constructor(options: TaskQueueOptions) {
    this.#options = options;
  }

  /** Task type and domain of the queue. */
  get name(): { readonly taskType: string; readonly domain: string | undefined } {
    return this.#options;
  }

  /** Number of held polls. */
  get heldPolls(): number {
    return this.#heldPolls.length;
  }

  /** Number of tasks that no worker has taken yet. */
  get readyTasks(): number {
    return this.#ready.length;
  }

  /** Maximum number of tasks that the held polls take together. */
  get capacity(): number {
    return this.#heldPolls.reduce((sum, { left }) => sum + left, 0);
  }

  /** True when this queue has no polls and no tasks, so it can be deleted. */
  get idle(): boolean {
    return this.#heldPolls.length === 0 && this.#ready.length === 0 && this.#fetch === undefined;
  }

  /** True when the last fetch failed. */
  get failing(): boolean {
    return this.#failures > 0;
  }

  /** See {@link PolledQueue}. */
  hold(poll: HeldPoll): void {
    this.lastPolledAt = performance.now();
    this.#heldPolls.push(poll);
    // Another queue has already served the poll, so the poll ends now. It takes further ready tasks, but no tasks are
    // fetched for it.
    if (poll.taken.length > 0) {
      this.#ready = this.#deliver(this.#ready);
      return;
    }
    this.#reserve(poll);
    this.#pump();
    this.#options.onWaiting?.(poll.taken.length > 0 || this.#ready.length > 0 ? 'busy' : 'poll');
    if (this.lastPolledAt >= this.#orphanSearchDueAt) void this.#searchOrphans();
  }

  /** Reserves a poll for a fetch that is due, so that ready tasks alternate with tasks from the engine. */
  #reserve(poll: HeldPoll): void {
    const isDue = this.#mayHaveTask || this.lastPolledAt >= this.#fetchDueAt;
    const isBusy = this.#ready.length > 0 && this.#fetch === undefined;
    if (isDue && isBusy && !this.#isTurnOfReady && this.#reservation.isPossible(poll)) {
      this.#mayHaveTask = true;
      this.#reservation.begin(poll, () => this.#pump());
    }
    this.#isTurnOfReady = false;
  }

  /** See {@link PolledQueue}. */
  async afterFetches(poll: HeldPoll): Promise<void> {
    // The current fetch may have started before this poll, for other polls. The next fetch is for this poll too.
    while (this.#fetch !== undefined && this.#heldPolls.includes(poll)) await this.#fetch;
  }

  /** See {@link PolledQueue}. */
  drop(poll: HeldPoll): void {
    this.#heldPolls = this.#heldPolls.filter((held) => held !== poll);
    if (this.#reservation.isFor(poll)) this.#reservation.end();
    if (this.#heldPolls.length === 0) this.#stopTimer();
  }

  /**
   * Returns a task that is already available, for a worker that has just finished one; undefined when there is none.
   */
  async takeOne(workerId: string | undefined, signal: AbortSignal): Promise<Task | undefined> {
    if (!this.#mayHaveTask && this.#fetch === undefined && this.#ready.length === 0) return undefined;
    const [task] = await holdPoll([{ queue: this, count: 1 }], { workerId, timeoutMs: 20, fetchMs: 0, signal });
    return task;
  }

  /** Fetches at once, because a task exists or may exist. */
  announce(): void {
    this.#mayHaveTask = true;
    this.#pump();
  }

  /** Fetches more often for a while, because a task may be scheduled within a few hundred milliseconds. */
  expect(): void {
    this.#expectation = 0;
    this.#fetchDueAt = performance.now() + this.#pauseMs();
    if (this.#heldPolls.length > 0) this.#startTimer();
  }

  /**
   * Delivers a task that the engine has scheduled in the direct domain to the next worker that polls here. Tasks that
   * become ready in the same turn of the event loop are delivered together.
   * @param task its id comes from `dispatchedTaskId`
   */
  dispatchDirectly(task: Task): void {
    this.#ready.push(task);
    if (this.#deliversSoon) return;
    this.#deliversSoon = true;
    setImmediate(() => {
      this.#deliversSoon = false;
      this.#pump();
      if (this.#ready.length > 0) this.#options.onWaiting?.('task');
    });
  }

  /** Stops the delivery of a dispatched task whose client has left. */
  cancelDispatch(taskId: string): void {
    this.#ready = this.#ready.filter((task) => task.taskId !== taskId);
  }

  /** True while a dispatched task waits here. */
  isReady(taskId: string): boolean {
    return this.#ready.some((task) => task.taskId === taskId);
  }

  /** Removes and returns the first `count` dispatched tasks that no worker has taken, for another router's workers. */
  takeDispatched(count: number): Task[] {
    const taken = this.#ready.filter(({ taskId }) => isDispatchedTaskId(taskId)).slice(0, count);
    this.#ready = this.#ready.filter((task) => !taken.includes(task));
    return taken;
  }

  /** Takes back tasks that did not reach their worker. These tasks are delivered next. */
  giveBack(tasks: readonly Task[]): void {
    if (tasks.length === 0) return;
    this.#ready.unshift(...tasks);
    this.#pump();
    if (this.#ready.length === 0) return;
    this.#requeueTimer ??= setTimeout(() => void this.#requeueReady(), requeueAfterMs);
    if (this.#ready.some(({ taskId }) => isDispatchedTaskId(taskId))) this.#options.onWaiting?.('task');
  }

  /**
   * Ends all held polls without tasks, and returns undelivered tasks to the engine, including those of a fetch in
   * flight.
   */
  async stop(): Promise<void> {
    for (const held of this.#heldPolls) held.release();
    this.#stopTimer();
    await this.#fetch;
    await this.#requeueReady();
  }

  #pump(): void {
    if (this.#ready.length > 0) this.#ready = this.#deliver(this.#ready);
    if (this.#fetch !== undefined || this.#heldPolls.length === 0) return;
    if (this.#mayHaveTask) this.#fetch = this.#fetchTasks();
    else if (this.#timer === undefined) this.#startTimer();
  }

  async #fetchTasks(): Promise<void> {
    this.#mayHaveTask = false;
    this.#stopTimer();
    const count = Math.min(maxFetchCount, this.capacity);
    const { taskType, domain, log } = this.#options;
    try {
      const tasks = await this.#pollEngine(count, domain).finally(() => this.#reservation.end());
      this.#failures = 0;
      this.#isTurnOfReady = tasks.length > 0;
      // After a full batch, the engine may have more tasks.
      if (tasks.length >= count) this.#mayHaveTask = true;
      if (tasks.length > 0) this.#expectation = expectationMs.length;
      this.giveBack(this.#deliver(tasks));
    } catch (error) {
      // An engine that is starting has no tasks, so this is not a failure.
      const isStarting = error instanceof EngineError && error.isStarting;
      if (!isStarting) this.#failures += 1;
      if (this.#failures === 1)
        log.warn({ taskType, domain, ...errorFields(error) }, 'could not fetch tasks from the engine');
    }
    this.#fetch = undefined;
    this.#fetchDueAt = performance.now() + this.#pauseMs();
    this.#pump();
    if (this.#fetch === undefined && this.#heldPolls.length > 0) this.#startTimer();
    // A poll that was reserved stays held when another poll has taken the ready task.
    if (this.#heldPolls.length > 0 && this.#ready.length === 0) this.#options.onWaiting?.('poll');
  }

  async #pollEngine(count: number, domain: string | undefined): Promise<Task[]> {
    const sinceStartMs = startStopwatch();
    const workerId = this.#heldPolls[0]?.workerId;
    const tasks = await this.#options.engine.pollTasks(this.#options.taskType, {
      count,
      ...(domain === undefined ? {} : { domain }),
      ...(workerId === undefined ? {} : { workerId }),
    });
    const fetched = { sinceStartMs, tookMs: sinceStartMs() };
    for (const task of tasks) this.#fetchOf.set(task, fetched);
    return tasks;
  }

  /**
   * Fetches dispatched tasks whose router has stopped, oldest first, one at a time. The search ends at the first recent
   * task. A worker may already have that task, so it may be delivered twice; no other task can be.
   */
  async #searchOrphans(): Promise<void> {
    this.#orphanSearchDueAt = performance.now() + orphanSearchMs;
    try {
      for (let ageMs = orphanAgeMs; ageMs >= orphanAgeMs;) {
        const { domain } = this.#options;
        const [orphan] = await this.#pollEngine(1, directDomain(domain));
        if (orphan === undefined) return;
        ageMs = Number(orphan['startTime']) - Number(orphan['scheduledTime']);
        const { domain: _direct, ...task } = orphan;
        this.giveBack([domain === undefined ? (task as Task) : { ...(task as Task), domain }]);
      }
    } catch {
      // The next search finds the remaining tasks.
    }
  }

  /**
   * Delivers tasks round-robin to workers, in order of arrival of their polls. The tasks for one worker are sent in as
   * few responses as possible.
   * @returns tasks that no poll took
   */
  #deliver(tasks: readonly Task[]): Task[] {
    const undelivered = tasks.filter((task) => this.#mayDeliver(task));
    const served = new Set<HeldPoll>();
    while (undelivered.length > 0) {
      const open = firstOfEachWorker(this.#heldPolls.filter((poll) => !this.#reservation.isFor(poll)));
      if (open.length === 0) break;
      for (const poll of open.slice(0, undelivered.length)) {
        poll.taken.push(...undelivered.splice(0, 1));
        poll.left -= 1;
        served.add(poll);
      }
    }
    this.#heldPolls = this.#heldPolls.filter((poll) => !served.has(poll));
    for (const poll of served) poll.release();
    return undelivered;
  }

  /**
   * Checks whether a task may be delivered. Sends a task that was held too long back to the engine and returns false.
   * Dispatched tasks may always be delivered, because they are still in the engine's queue.
   */
  #mayDeliver(task: Task): boolean {
    if (isDispatchedTaskId(task.taskId)) return true;
    const fetched = this.#fetchOf.get(task);
    if (fetched !== undefined && isInTime(task, fetched)) return true;
    void requeueTask(task, this.#options).then(() => this.announce());
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

  /**
   * Returns fetched tasks without a worker to the engine. Dispatched tasks need not be returned, because they are still
   * in the engine's queue.
   */
  async #requeueReady(): Promise<void> {
    clearTimeout(this.#requeueTimer);
    this.#requeueTimer = undefined;
    const fetchedTasks = this.#ready.filter(({ taskId }) => !isDispatchedTaskId(taskId));
    this.#ready = this.#ready.filter(({ taskId }) => isDispatchedTaskId(taskId));
    await Promise.all(fetchedTasks.map((task) => requeueTask(task, this.#options)));
  }
}
