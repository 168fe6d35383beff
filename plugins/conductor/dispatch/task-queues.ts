// The registry of task queues with held polls, by task type and domain.

import { BoundedMap } from '#lib/gc/bounded.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import type { Task } from '#lib/conductor/types.ts';
import { holdPoll, type Poll } from './held-poll.ts';
import { TaskQueue, type Waiting } from './task-queue.ts';

/** A queue counts as inactive after this many milliseconds without a poll. */
export const activeWithinMs = 60_000;
/**
 * Once there are this many queues, adding a queue deletes idle ones: first those that have not been polled for a minute
 * and, if that is not enough, those that were polled least recently.
 */
const maxQueues = 1_000;
/** Maximum number of queues whose latest poll is remembered. */
const maxPolledQueues = 10_000;

/** The name of one queue of the engine; without a domain, the default pool. */
export interface QueueName {
  taskType: string;
  domain?: string | undefined;
}

/** Called when a queue has polls or tasks whose counterpart may be at another router. */
export type OnWaiting = (name: QueueName, waiting: Waiting) => void;

/** Creates task queues on demand and passes announcements on to them. */
export class TaskQueues {
  readonly #engine: Pick<Engine, 'pollTasks' | 'updateTask'>;
  readonly #log: Logger;
  #onWaiting: OnWaiting = () => undefined;
  #heldPolls = 0;
  readonly #queues = new Map<string, TaskQueue>();
  /** Time of the last poll of each queue, including queues that have been deleted. */
  readonly #lastPolled = new BoundedMap<string, number>(maxPolledQueues);

  constructor(engine: Pick<Engine, 'pollTasks' | 'updateTask'>, log: Logger) {
    this.#engine = engine;
    this.#log = log;
  }

  /** Sets the listener for waiting tasks and polls, whose counterpart may be at another router. */
  listen(listener: OnWaiting): void {
    this.#onWaiting = listener;
  }

  /** Number of held polls; one poll may wait in several queues. */
  get heldPolls(): number {
    return this.#heldPolls;
  }

  /** Number of tasks that no worker has taken yet. */
  get readyTasks(): number {
    return [...this.#queues.values()].reduce((sum, queue) => sum + queue.readyTasks, 0);
  }

  /** Returns the queue with this name; creates it on first use. */
  queue({ taskType, domain }: QueueName): TaskQueue {
    const key = queueKey({ taskType, domain });
    const known = this.#queues.get(key);
    if (known !== undefined) return known;
    if (this.#queues.size >= maxQueues) this.#deleteIdle();
    const onWaiting = (waiting: Waiting) => this.#onWaiting({ taskType, domain }, waiting);
    const queue = new TaskQueue({ engine: this.#engine, taskType, domain, log: this.#log, onWaiting });
    this.#queues.set(key, queue);
    return queue;
  }

  /** Holds a poll in one or several queues, see {@link holdPoll}. */
  async poll(wanted: readonly (QueueName & { count: number })[], poll: Poll): Promise<Task[]> {
    for (const name of wanted) this.notePoll(name);
    this.#heldPolls += 1;
    const tasks = await holdPoll(
      wanted.map(({ count, ...name }) => ({ queue: this.queue(name), count })),
      poll,
    );
    this.#heldPolls -= 1;
    for (const name of wanted) this.notePoll(name);
    return tasks;
  }

  /** True when the last fetch of this queue failed. */
  isFailing(name: QueueName): boolean {
    return this.#existing(name)?.failing === true;
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

  /** True when a worker has polled this queue here within the last minute. */
  isActive(name: QueueName): boolean {
    const queue = this.#existing(name);
    return queue !== undefined && performance.now() - queue.lastPolledAt <= activeWithinMs;
  }

  /** True while a worker waits in this queue here. */
  hasHeldPoll(name: QueueName): boolean {
    return (this.#existing(name)?.heldPolls ?? 0) > 0;
  }

  /** Iterates over the queues with their names. */
  *[Symbol.iterator](): Generator<[QueueName, TaskQueue]> {
    for (const queue of this.#queues.values()) yield [queue.name, queue];
  }

  /** Records a poll of a queue, for the readiness check and the metrics. */
  notePoll(name: QueueName): void {
    const key = queueKey(name);
    // Deleting the key first moves its entry to the end, so that the queue that was polled longest ago is evicted.
    this.#lastPolled.delete(key);
    this.#lastPolled.set(key, performance.now());
  }

  /** True when a worker of any domain polled this task type within the last `withinMs` milliseconds. */
  isPolled(taskType: string, withinMs: number): boolean {
    const since = performance.now() - withinMs;
    for (const [key, at] of this.#lastPolled) if (at > since && key.endsWith(`:${taskType}`)) return true;
    return false;
  }

  /** Milliseconds since a poll of this queue last began or ended; Infinity if there was no poll. */
  sincePollMs(name: QueueName): number {
    return performance.now() - (this.#lastPolled.get(queueKey(name)) ?? Number.NEGATIVE_INFINITY);
  }

  /** Ends every held poll. */
  async stop(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.stop()));
  }

  /** Deletes idle queues to bound memory, because workers can poll for any number of task types that do not exist. */
  #deleteIdle(): void {
    const now = performance.now();
    for (const [key, queue] of this.#queues) {
      if (queue.idle && now - queue.lastPolledAt > activeWithinMs) this.#queues.delete(key);
    }
    if (this.#queues.size >= maxQueues) {
      const idle = [...this.#queues].filter(([, queue]) => queue.idle).toSorted(byLastPoll);
      // Deletes down to 90 %, so that not every new queue triggers a search.
      for (const [key] of idle.slice(0, this.#queues.size - 0.9 * maxQueues)) this.#queues.delete(key);
    }
  }

  #existing(name: QueueName): TaskQueue | undefined {
    return this.#queues.get(queueKey(name));
  }
}

function byLastPoll([, one]: [string, TaskQueue], [, other]: [string, TaskQueue]): number {
  return one.lastPolledAt - other.lastPolledAt;
}

/** Returns a key that is different for every queue. */
export function queueKey({ taskType, domain }: QueueName): string {
  return `${domain ?? ''}:${taskType}`;
}
