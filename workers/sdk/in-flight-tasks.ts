// Tracks open polls and tasks in flight, so that the process can limit its concurrency and drain before it stops.

import { startStopwatch } from '#lib/conductor/stopwatch.ts';
import type { Task } from '#lib/conductor/types.ts';

/** A task that was polled and whose result has not been accepted yet. */
export interface InFlightTask {
  readonly taskType: string;
  readonly executionId: string;
  /** When the poll returned the task (performance.now()). */
  readonly receivedAt: number;
  /** Returns the milliseconds since the poll was sent, an upper bound of the task's age in the engine. */
  readonly sincePollMs: () => number;
  /** The engine times the task out after this many seconds without an update; 0: never. */
  readonly responseTimeoutSeconds: number;
}

/**
 * Fraction of the response time-out in which a write may start. The rest is for the call itself: when the engine times
 * the task out, no write is in flight to the back end, and the reconciler can read the record.
 */
const writeStartFraction = 2 / 3;

/** The open polls and in-flight tasks of all task types of a process. */
export class InFlightTasks {
  readonly #tasks = new Map<string, InFlightTask>();
  #polls = 0;
  #change = Promise.withResolvers<undefined>();

  /** Returns the number of in-flight tasks of one type, by default of all types. */
  count(taskType?: string): number {
    if (taskType === undefined) return this.#tasks.size;
    return [...this.#tasks.values()].filter((task) => task.taskType === taskType).length;
  }

  /** Returns the in-flight task with this id; undefined when it is unknown or its result was accepted. */
  get(taskId: string): InFlightTask | undefined {
    return this.#tasks.get(taskId);
  }

  /**
   * Records an open poll. The returned function closes the poll and adds its tasks in one step, so that `waitUntilIdle`
   * never misses a task.
   */
  openPoll(taskType: string): (tasks: readonly Task[]) => void {
    this.#polls += 1;
    const sincePollMs = startStopwatch();
    return (tasks) => {
      this.#polls -= 1;
      for (const task of tasks) {
        this.#tasks.set(task.taskId, {
          taskType,
          executionId: task.workflowInstanceId,
          receivedAt: performance.now(),
          sincePollMs,
          responseTimeoutSeconds: Number(task['responseTimeoutSeconds'] ?? 0),
        });
      }
      this.#notifyChange();
    };
  }

  /**
   * Returns true when it is too late to start a write for a task. This happens when the process was suspended after the
   * poll (SIGSTOP, a sleeping machine): the reconciler may have decided already whether the write was applied.
   */
  hasExpired(taskId: string): boolean {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return true;
    const { responseTimeoutSeconds, sincePollMs } = task;
    return responseTimeoutSeconds > 0 && sincePollMs() > responseTimeoutSeconds * 1_000 * writeStartFraction;
  }

  /** Removes a task whose result was accepted or given up. */
  remove(taskId: string): void {
    this.#tasks.delete(taskId);
    this.#notifyChange();
  }

  /** Waits until fewer than `limit` tasks of a type are in flight and returns how many more may start; 0 on abort. */
  async waitForCapacity(taskType: string, { limit, signal }: { limit: number; signal: AbortSignal }): Promise<number> {
    for (;;) {
      if (signal.aborted) return 0;
      const capacity = limit - this.count(taskType);
      if (capacity > 0) return capacity;
      await this.#nextChange(signal);
    }
  }

  /** Resolves when no poll is open and no task is in flight, or when `signal` aborts. */
  async waitUntilIdle(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (this.#polls > 0 || this.#tasks.size > 0)) await this.#nextChange(signal);
  }

  async #nextChange(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<undefined>();
    const onAbort = () => aborted.resolve(undefined);
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([this.#change.promise, aborted.promise]);
    signal.removeEventListener('abort', onAbort);
  }

  #notifyChange(): void {
    this.#change.resolve(undefined);
    this.#change = Promise.withResolvers<undefined>();
  }
}
