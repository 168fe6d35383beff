// Parked polls of one queue: workers' polls are held here, and the engine is asked only when a task can exist.

import { Attachment } from '#lib/gc/attachment.ts';
import { TransientMap } from '#lib/gc/transient-map.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { startStopwatch } from '#lib/conductor/stopwatch.ts';
import type { Task } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { dispatchedTaskId, placeOf } from './dispatched-task.ts';
import { requeueTask } from './requeue-task.ts';

/** A worker's poll. */
export interface Poll {
  /** Most tasks it takes. */
  count: number;
  workerId: string | undefined;
  /** How long it may be held, in milliseconds. */
  timeoutMs: number;
  /** Aborts when the worker is gone. */
  signal: AbortSignal;
}

interface ParkedPoll {
  count: number;
  workerId: string | undefined;
  taken: Task[];
  settle(): void;
}

/** Gets the engine's own task in place of one that was handed over. */
export type Confirm = (task: Task) => void;

export interface TaskQueueOptions {
  engine: Pick<Engine, 'pollTasks' | 'updateTask'>;
  taskType: string;
  domain: string | undefined;
  log: Logger;
}

/** Pause between looks when nothing announces a task: covers other start paths, retries and time-outs. */
const idleLookMs = 1_000;
/** Pauses after an announcement of something that happens soon, such as a workflow started by an event. */
const expectationMs = [10, 15, 25, 40, 60, 100, 150, 250, 400];
/** Pause after a failed look, doubled each time up to the idle pause. */
const failedLookMs = 100;
/** Tasks taken from the engine for workers that have gone meanwhile go back to it after this time. */
const giveUpMs = 1_000;
/**
 * Tasks fetched longer ago than this (milliseconds) go back to the engine instead of to a worker: this router was
 * suspended meanwhile, and the engine may have given them up.
 */
const longestHoldMs = 5_000;
/** Most tasks fetched in one look. */
const largestLook = 64;
/** Tasks remembered because their start may not have been answered yet. */
const mostFetched = 2_000;

/**
 * One queue: a task type in a domain. One look at the engine at a time however many polls wait; first come, first
 * served; a task that was fetched for a worker that has gone is given to the next one.
 *
 * A task that is handed over at its start stays in the engine's queue until its result arrives. A look that comes
 * across it meanwhile does not hand it out a second time.
 */
export class TaskQueue {
  readonly #options: TaskQueueOptions;
  #parked: ParkedPoll[] = [];
  /** Tasks without a worker: handed over to the next that polls, or fetched for one that has gone. */
  #ready: Task[] = [];
  /** Tasks handed over whose result has not arrived, and the engine's own task once a look came across it. */
  readonly #handedOver = new TransientMap<string, Task | null>();
  /** Of those handed over, the ones that nobody waits for any more and the engine may still have queued. */
  readonly #withdrawn = new Set<string>();
  /** Milliseconds since the look that brought a task was begun. */
  readonly #sinceLookMs = new Attachment<Task, () => number>('look of a task');
  /** Tasks that looks have brought lately: the look may overtake the answer to the start. */
  readonly #fetched = new Set<string>();
  /** Tasks settled while a look is under way, which may have come across them before. */
  readonly #settled = new TransientMap<string, Confirm>();
  /** True when the engine may have a task that no look has seen. */
  #mayHaveTask = true;
  #looking = false;
  #failures = 0;
  #expectation = expectationMs.length;
  #timer: NodeJS.Timeout | undefined;
  /** When the next look is due without an announcement; it outlives the polls, which may be shorter than a pause. */
  #lookDueAt = 0;
  #giveUpTimer: NodeJS.Timeout | undefined;
  /** When a worker last polled (performance.now()). */
  lastPolledAt = Number.NEGATIVE_INFINITY;

  constructor(options: TaskQueueOptions) {
    this.#options = options;
  }

  /** Polls held now. */
  get parked(): number {
    return this.#parked.length;
  }

  /** True when nothing would be lost by forgetting this queue. */
  get idle(): boolean {
    return this.#parked.length === 0 && this.#ready.length === 0 && this.#handedOver.size === 0 && !this.#looking;
  }

  /** True while the last look at the engine failed. */
  get failing(): boolean {
    return this.#failures > 0;
  }

  /** Resolves with tasks as soon as there are some, and empty when the time is over or the worker is gone. */
  async poll({ count, workerId, timeoutMs, signal }: Poll): Promise<Task[]> {
    this.lastPolledAt = performance.now();
    if (signal.aborted) return [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const parked: ParkedPoll = { count: Math.max(1, count), workerId, taken: [], settle: resolve };
    const timer = setTimeout(resolve, timeoutMs);
    signal.addEventListener('abort', parked.settle, { once: true });
    this.#parked.push(parked);
    this.#pump();
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', parked.settle);
    this.#parked = this.#parked.filter((poll) => poll !== parked);
    if (this.#parked.length === 0) this.#stopTimer();
    return parked.taken;
  }

  /** A task that is there already, for a worker that has just finished one; does not wait for the next. */
  async takeOne(workerId: string | undefined, signal: AbortSignal): Promise<Task | undefined> {
    if (!this.#mayHaveTask && !this.#looking && this.#ready.length === 0) return undefined;
    const [task] = await this.poll({ count: 1, workerId, timeoutMs: 20, signal });
    return task;
  }

  /** A task exists now, or may exist. */
  announce(): void {
    this.#mayHaveTask = true;
    this.#pump();
  }

  /** A task may come within some hundred milliseconds. */
  expect(): void {
    this.#expectation = 0;
    this.#lookDueAt = performance.now() + this.#pauseMs();
    if (this.#parked.length > 0) this.#arm();
  }

  /**
   * Gives a task that the engine has just queued to the next worker that polls, unless a look has brought it already.
   * `settle` must follow.
   * @param task with an id of `handedOverId`
   */
  handOver(task: Task): void {
    if (this.#fetched.delete(task.taskId)) return;
    this.#handedOver.set(task.taskId, null);
    this.#ready.push(task);
    this.#pump();
  }

  /**
   * Nobody waits for a handed over task any more: no worker gets it from now on, under whatever id. `settle` must
   * follow when the engine has dropped it.
   */
  withdraw(taskId: string): void {
    if (!this.#handedOver.has(taskId)) return;
    this.#withdrawn.add(taskId);
    this.#ready = this.#ready.filter((task) => task.taskId !== taskId);
  }

  /**
   * The result of a handed over task has arrived, or the engine has dropped it.
   * @param confirm called if a look came across the task: the engine may have written down the poll over the result
   */
  settle(taskId: string, confirm: Confirm = () => undefined): void {
    const found = this.#handedOver.get(taskId);
    if (found === undefined) return;
    this.#handedOver.delete(taskId);
    this.#withdrawn.delete(taskId);
    this.#ready = this.#ready.filter((task) => task.taskId !== taskId);
    if (found !== null) confirm(found);
    else if (this.#looking) this.#settled.set(taskId, confirm);
  }

  /** Takes back tasks that did not reach the worker they were meant for. */
  giveBack(tasks: readonly Task[]): void {
    if (tasks.length === 0) return;
    this.#ready.push(...tasks.flatMap((task) => this.#stillToDo(task)));
    this.#pump();
    if (this.#ready.length > 0) this.#giveUpTimer ??= setTimeout(() => void this.#giveUp(), giveUpMs);
  }

  /** Lets every poll go empty and gives tasks in hand back to the engine. */
  async stop(): Promise<void> {
    for (const parked of this.#parked) parked.settle();
    this.#stopTimer();
    await this.#giveUp();
  }

  /** What is given out in place of a task that came back: itself, or what a look has found of it meanwhile. */
  #stillToDo(task: Task): Task[] {
    if (placeOf(task.taskId) === undefined) return [task];
    const found = this.#handedOver.get(task.taskId);
    if (found === undefined || this.#withdrawn.has(task.taskId)) return [];
    if (found === null) return [task];
    this.#handedOver.delete(task.taskId);
    return [found];
  }

  /** Of the tasks a look has brought, those that no worker has yet. */
  #notHandedOver(tasks: readonly Task[]): Task[] {
    return tasks.filter((task) => {
      const id = dispatchedTaskId({ executionId: task.workflowInstanceId, referenceName: task.referenceTaskName });
      const confirm = this.#settled.get(id);
      if (confirm !== undefined) {
        confirm(task);
        return false;
      }
      if (!this.#handedOver.has(id)) {
        this.#noteFetched(id);
        return true;
      }
      const waiting = this.#ready.findIndex(({ taskId }) => taskId === id);
      if (waiting < 0) {
        this.#handedOver.set(id, task);
        return false;
      }
      // It is the engine's to time out from now on: the worker gets it under its own id.
      this.#handedOver.delete(id);
      this.#ready.splice(waiting, 1);
      return true;
    });
  }

  #noteFetched(id: string): void {
    this.#fetched.add(id);
    if (this.#fetched.size > mostFetched) this.#fetched.delete(this.#fetched.values().next().value as string);
  }

  #pump(): void {
    if (this.#ready.length > 0) this.#ready = this.#deliver(this.#ready);
    if (this.#looking || this.#parked.length === 0) return;
    if (this.#mayHaveTask) void this.#look();
    else if (this.#timer === undefined) this.#arm();
  }

  async #look(): Promise<void> {
    this.#looking = true;
    this.#mayHaveTask = false;
    this.#stopTimer();
    const polls = this.#parked;
    const count = Math.min(
      largestLook,
      polls.reduce((sum, poll) => sum + poll.count, 0),
    );
    const { engine, taskType, domain, log } = this.#options;
    const sinceLookMs = startStopwatch();
    try {
      const workerId = polls[0]?.workerId;
      const tasks = await engine.pollTasks(taskType, {
        count,
        ...(domain === undefined ? {} : { domain }),
        ...(workerId === undefined ? {} : { workerId }),
      });
      for (const task of tasks) this.#sinceLookMs.set(task, sinceLookMs);
      this.#failures = 0;
      // A full batch says nothing of what is behind it.
      if (tasks.length >= count) this.#mayHaveTask = true;
      if (tasks.length > 0) this.#expectation = expectationMs.length;
      this.giveBack(this.#deliver(this.#notHandedOver(tasks)));
    } catch (error) {
      // An engine that is starting has no task for anybody.
      const isStarting = error instanceof EngineError && error.isStarting;
      if (!isStarting) this.#failures += 1;
      if (this.#failures === 1)
        log.warn({ taskType, domain, ...errorFields(error) }, 'the engine was not asked for tasks');
    }
    this.#looking = false;
    this.#settled.clear();
    this.#lookDueAt = performance.now() + this.#pauseMs();
    if (this.#parked.length === 0) return;
    if (this.#mayHaveTask) this.#pump();
    else this.#arm();
  }

  /** Hands tasks round: one to each poll in the order of arrival, then again up to what each takes. */
  #deliver(tasks: readonly Task[]): Task[] {
    const rest = tasks.filter((task) => this.#mayLeave(task));
    const served = new Set<ParkedPoll>();
    while (rest.length > 0) {
      const open = this.#parked.filter((poll) => poll.taken.length < poll.count);
      if (open.length === 0) break;
      for (const poll of open.slice(0, rest.length)) {
        poll.taken.push(...rest.splice(0, 1));
        served.add(poll);
      }
    }
    this.#parked = this.#parked.filter((poll) => !served.has(poll));
    for (const poll of served) poll.settle();
    return rest;
  }

  /** False: the task goes back to the engine. What was only handed over the engine still has in its queue. */
  #mayLeave(task: Task): boolean {
    const heldMs = this.#sinceLookMs.get(task)?.() ?? Infinity;
    if (placeOf(task.taskId) !== undefined || heldMs <= longestHoldMs) return true;
    void requeueTask(task, this.#options);
    return false;
  }

  #arm(): void {
    clearTimeout(this.#timer);
    const look = () => {
      this.#timer = undefined;
      this.announce();
    };
    this.#timer = setTimeout(look, Math.max(0, this.#lookDueAt - performance.now()));
  }

  #pauseMs(): number {
    if (this.#failures > 0) return Math.min(failedLookMs * 2 ** this.#failures, idleLookMs);
    const soon = expectationMs[this.#expectation];
    if (soon === undefined) return idleLookMs * (0.9 + 0.2 * Math.random());
    this.#expectation += 1;
    return soon;
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Gives tasks without a worker back to the engine. What was only handed over the engine has in its queue. */
  async #giveUp(): Promise<void> {
    clearTimeout(this.#giveUpTimer);
    this.#giveUpTimer = undefined;
    const fetched = this.#ready.filter(({ taskId }) => placeOf(taskId) === undefined);
    this.#ready = this.#ready.filter(({ taskId }) => placeOf(taskId) !== undefined);
    await Promise.all(fetched.map((task) => requeueTask(task, this.#options)));
  }
}
