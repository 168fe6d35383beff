// The registry of task queues with held polls, by task type and domain.

import type { Engine } from '#lib/conductor/engine.ts';
import type { Task } from '#lib/conductor/types.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { type OnFetched, TaskQueue } from './task-queue.ts';

/** A queue counts as inactive after this many milliseconds without a poll on this router. */
const activeWithinMs = 60_000;
/** From this many queues on, a new one first deletes those that are idle and inactive. */
const maxQueues = 1_000;
/** That clean-up also deletes poll times that are older than this (milliseconds). */
const keepPollTimeMs = 3_600_000;

/** The name of one queue of the engine; without a domain, the default pool. */
export interface QueueName {
  taskType: string;
  domain?: string | undefined;
}

/** Creates task queues on demand and passes announcements on to them. */
export class TaskQueues {
  readonly #engine: Pick<Engine, 'pollTasks' | 'updateTask'>;
  readonly #log: Logger;
  readonly #queues = new Map<string, TaskQueue>();
  readonly #lastPolled = new Map<string, number>();

  constructor(engine: Pick<Engine, 'pollTasks' | 'updateTask'>, log: Logger) {
    this.#engine = engine;
    this.#log = log;
  }

  /** Number of held polls of all queues. */
  get heldPolls(): number {
    return [...this.#queues.values()].reduce((sum, queue) => sum + queue.heldPolls, 0);
  }

  /** Returns the queue with this name; creates it at the first poll. */
  queue({ taskType, domain }: QueueName): TaskQueue {
    const key = `${domain ?? ''}:${taskType}`;
    const known = this.#queues.get(key);
    if (known !== undefined) return known;
    if (this.#queues.size >= maxQueues) this.#deleteIdle();
    const queue = new TaskQueue({ engine: this.#engine, taskType, domain, log: this.#log });
    this.#queues.set(key, queue);
    return queue;
  }

  /** Announces that a task exists, or may exist. @returns whether this router holds a poll for it */
  announce(name: QueueName): boolean {
    const queue = this.#existing(name);
    queue?.announce();
    return queue !== undefined && queue.heldPolls > 0;
  }

  /** Announces that a task may be scheduled soon. @returns whether this router holds a poll for it */
  expect(name: QueueName): boolean {
    const queue = this.#existing(name);
    queue?.expect();
    return queue !== undefined && queue.heldPolls > 0;
  }

  /** Dispatches a task directly to the next worker that polls its queue. @returns false when the queue is inactive */
  dispatchDirectly(name: QueueName, task: Task): boolean {
    const queue = this.#existing(name);
    if (queue === undefined || performance.now() - queue.lastPolledAt > activeWithinMs) return false;
    queue.dispatchDirectly(task);
    return true;
  }

  /** Stops the delivery of a dispatched task; `confirmDispatch` must follow once the engine has removed the task. */
  cancelDispatch(name: QueueName, taskId: string): void {
    this.#existing(name)?.cancelDispatch(taskId);
  }

  /** Ends a direct dispatch: the result has arrived, or the engine has removed the task. */
  confirmDispatch(name: QueueName, taskId: string, onFetched?: OnFetched): void {
    this.#existing(name)?.confirmDispatch(taskId, onFetched);
  }

  /** Records a poll for a task type, for the readiness check. */
  notePoll(taskType: string): void {
    this.#lastPolled.set(taskType, performance.now());
  }

  /** True when a worker of any domain polled this task type within the last `withinMs` milliseconds. */
  isPolled(taskType: string, withinMs: number): boolean {
    return this.sincePollMs(taskType) < withinMs;
  }

  /** Milliseconds since a poll for this task type began or ended; Infinity without one. */
  sincePollMs(taskType: string): number {
    return performance.now() - (this.#lastPolled.get(taskType) ?? Number.NEGATIVE_INFINITY);
  }

  /** Ends every held poll. */
  async stop(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.stop()));
  }

  /** Bounds memory: workers can poll for any number of task types that do not exist. */
  #deleteIdle(): void {
    const now = performance.now();
    for (const [key, queue] of this.#queues) {
      if (queue.idle && now - queue.lastPolledAt > activeWithinMs) this.#queues.delete(key);
    }
    for (const [taskType, polledAt] of this.#lastPolled) {
      if (now - polledAt > keepPollTimeMs) this.#lastPolled.delete(taskType);
    }
  }

  #existing({ taskType, domain }: QueueName): TaskQueue | undefined {
    return this.#queues.get(`${domain ?? ''}:${taskType}`);
  }
}
