// All queues with parked polls, by task type and domain.

import type { Engine } from '#lib/conductor/engine.ts';
import type { Task } from '#lib/conductor/types.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { type Confirm, TaskQueue } from './task-queue.ts';

/** A worker that has not polled for this long (milliseconds) may be gone, or may poll through another router. */
const polledLatelyMs = 60_000;
/** Beyond so many queues those that nobody uses are forgotten, and who polled what longer ago than this (milliseconds). */
const mostQueues = 1_000;
const rememberedMs = 3_600_000;

/** Names one queue of the engine. */
export interface QueueName {
  taskType: string;
  domain?: string | undefined;
}

export class TaskQueues {
  readonly #engine: Pick<Engine, 'pollTasks' | 'updateTask'>;
  readonly #log: Logger;
  readonly #queues = new Map<string, TaskQueue>();
  readonly #lastPolled = new Map<string, number>();

  constructor(engine: Pick<Engine, 'pollTasks' | 'updateTask'>, log: Logger) {
    this.#engine = engine;
    this.#log = log;
  }

  /** Polls held now, over all queues. */
  get parked(): number {
    return [...this.#queues.values()].reduce((sum, queue) => sum + queue.parked, 0);
  }

  /** The queue of a name; made when a worker polls it for the first time. */
  queue({ taskType, domain }: QueueName): TaskQueue {
    const key = `${domain ?? ''}:${taskType}`;
    const known = this.#queues.get(key);
    if (known !== undefined) return known;
    if (this.#queues.size >= mostQueues) this.#forgetIdle();
    const queue = new TaskQueue({ engine: this.#engine, taskType, domain, log: this.#log });
    this.#queues.set(key, queue);
    return queue;
  }

  /** A task exists, or may exist. @returns whether a worker waits for it here */
  announce(name: QueueName): boolean {
    const queue = this.#existing(name);
    queue?.announce();
    return queue !== undefined && queue.parked > 0;
  }

  /** A task may come soon. @returns whether a worker waits for it here */
  expect(name: QueueName): boolean {
    const queue = this.#existing(name);
    queue?.expect();
    return queue !== undefined && queue.parked > 0;
  }

  /** Hands a task over to the next worker that polls its queue here. @returns false when none has polled it lately */
  handOver(name: QueueName, task: Task): boolean {
    const queue = this.#existing(name);
    if (queue === undefined || performance.now() - queue.lastPolledAt > polledLatelyMs) return false;
    queue.handOver(task);
    return true;
  }

  /** No worker gets a handed over task any more; `settle` must follow when the engine has dropped it. */
  withdraw(name: QueueName, taskId: string): void {
    this.#existing(name)?.withdraw(taskId);
  }

  /** The result of a handed over task has arrived, or the engine has dropped it. */
  settle(name: QueueName, taskId: string, confirm?: Confirm): void {
    this.#existing(name)?.settle(taskId, confirm);
  }

  /** Records that a worker asks for a task type, for readiness. */
  notePoll(taskType: string): void {
    this.#lastPolled.set(taskType, performance.now());
  }

  /** True when some worker, in whatever domain, holds a poll or asked within the last `withinMs`. */
  isPolled(taskType: string, withinMs: number): boolean {
    return this.sincePollMs(taskType) < withinMs;
  }

  /** Time since some worker asked for it or was last answered, in milliseconds; Infinity when none has. */
  sincePollMs(taskType: string): number {
    return performance.now() - (this.#lastPolled.get(taskType) ?? Number.NEGATIVE_INFINITY);
  }

  /** Lets every poll go. */
  async stop(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.stop()));
  }

  /** Workers can poll for task types that do not exist. */
  #forgetIdle(): void {
    const now = performance.now();
    for (const [key, queue] of this.#queues) {
      if (queue.idle && now - queue.lastPolledAt > polledLatelyMs) this.#queues.delete(key);
    }
    for (const [taskType, polledAt] of this.#lastPolled) {
      if (now - polledAt > rememberedMs) this.#lastPolled.delete(taskType);
    }
  }

  #existing({ taskType, domain }: QueueName): TaskQueue | undefined {
    return this.#queues.get(`${domain ?? ''}:${taskType}`);
  }
}
