// Tracks open exchanges and tasks in flight, so that the process can limit its concurrency and drain before it stops.

import { startStopwatch } from '#lib/conductor/stopwatch.ts';
import type { Task } from '#lib/conductor/types.ts';
import { KeyedCounter } from '#lib/gc/keyed-counter.ts';

/** A task that was received and whose result has not been accepted yet. */
export interface InFlightTask {
  readonly taskType: string;
  readonly executionId: string;
  /** When the task was received (performance.now()). */
  readonly receivedAt: number;
  /**
   * Returns the milliseconds since the request that received the task was sent. The engine may count less time for the
   * task.
   */
  readonly sinceSentMs: () => number;
  /** The engine times the task out after this many seconds without an update; 0: never. */
  readonly responseTimeoutSeconds: number;
  /** False once the task has a result, which has yet to be accepted. */
  isRunning: boolean;
}

/**
 * Fraction of the response timeout within which a write may start. The rest is for the call itself, so that no write is
 * in flight to the back end when the engine times the task out and the reconciler checks whether the write
 * was applied.
 */
const writeStartFraction = 2 / 3;

/** The open exchanges and in-flight tasks of all task types of a process. */
export class InFlightTasks {
  readonly #tasks = new Map<string, InFlightTask>();
  /** Running tasks by type. */
  readonly #running = new KeyedCounter();
  #exchanges = 0;
  #onIdle: (() => void) | undefined;

  /** Number of tasks whose result has not been accepted yet. */
  get count(): number {
    return this.#tasks.size;
  }

  /** Returns the number of tasks of a type that have no result yet. */
  running(taskType: string): number {
    return this.#running.of(taskType);
  }

  /** Returns the in-flight task with this id; undefined when it is unknown or its result was accepted. */
  get(taskId: string): InFlightTask | undefined {
    return this.#tasks.get(taskId);
  }

  /**
   * Records an open exchange. The returned function closes the exchange and adds its tasks in one step, so that
   * `waitUntilIdle` never misses a task.
   */
  openExchange(): (tasks: readonly Task[]) => void {
    this.#exchanges += 1;
    const sinceSentMs = startStopwatch();
    return (tasks) => {
      this.#exchanges -= 1;
      for (const task of tasks) this.#add(task, sinceSentMs);
      this.#notify();
    };
  }

  /**
   * Returns true when it is too late to start a write for a task. This happens when the process was suspended after the
   * exchange (SIGSTOP, a sleeping machine): the reconciler may already have decided whether the write was applied.
   */
  hasExpired(taskId: string): boolean {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return true;
    const { responseTimeoutSeconds, sinceSentMs } = task;
    return responseTimeoutSeconds > 0 && sinceSentMs() > responseTimeoutSeconds * 1_000 * writeStartFraction;
  }

  /** Records that a task has a result, so that another task may start. */
  finished(taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task?.isRunning !== true) return;
    task.isRunning = false;
    this.#running.add(task.taskType, -1);
  }

  /**
   * Removes a task whose result was accepted or abandoned.
   * @param task the delivery that the result belongs to, as `get` returned it. A later delivery of the task is not
   *   removed; it can arrive before the response that accepts the result
   */
  remove(taskId: string, task: InFlightTask | undefined): void {
    if (this.#tasks.get(taskId) !== task) return;
    this.#tasks.delete(taskId);
    this.#notify();
  }

  /** Resolves when no exchange is open and no task is in flight, or when `signal` aborts. */
  async waitUntilIdle(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle = resolve;
    signal.addEventListener('abort', this.#onIdle, { once: true });
    this.#notify();
    await promise;
  }

  #add(task: Task, sinceSentMs: () => number): void {
    this.finished(task.taskId);
    this.#running.add(task.taskDefName, 1);
    this.#tasks.set(task.taskId, {
      taskType: task.taskDefName,
      executionId: task.workflowInstanceId,
      receivedAt: performance.now(),
      sinceSentMs,
      responseTimeoutSeconds: Number(task['responseTimeoutSeconds'] ?? 0),
      isRunning: true,
    });
  }

  #notify(): void {
    if (this.#exchanges === 0 && this.#tasks.size === 0) this.#onIdle?.();
  }
}
