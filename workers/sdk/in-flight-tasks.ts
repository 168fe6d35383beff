// What this process owes the engine at any moment: polls that may still hand out tasks, and tasks without a reported result.

import { startStopwatch } from '#lib/conductor/stopwatch.ts';
import type { Task } from '#lib/conductor/types.ts';

/** A task between its poll and the moment its result has been accepted. */
export interface TaskInHand {
  readonly taskType: string;
  readonly executionId: string;
  /** When it was handed out (performance.now()). */
  readonly receivedAt: number;
  /** Milliseconds since its poll was sent: the engine handed it out later than that. */
  readonly sincePollMs: () => number;
  /** The engine gives up on it after this time; 0 = never. */
  readonly responseTimeoutSeconds: number;
}

/**
 * A write may begin during this part of its task's response time-out. The rest is for the call itself: when the engine
 * gives the task up, nothing is on its way to the back end any more, and the reconciler can look at what stands there.
 */
const partForBeginning = 2 / 3;

/** The account of all task types of a process. */
export class InFlightTasks {
  readonly #tasks = new Map<string, TaskInHand>();
  #polls = 0;
  #changed = Promise.withResolvers<undefined>();

  /** Tasks in hand, of one type or of all. */
  tasks(taskType?: string): number {
    if (taskType === undefined) return this.#tasks.size;
    return [...this.#tasks.values()].filter((task) => task.taskType === taskType).length;
  }

  find(taskId: string): TaskInHand | undefined {
    return this.#tasks.get(taskId);
  }

  /** Opens a poll; the function closes it and takes over its tasks in the same instant, so that none is ever unaccounted for. */
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
      this.#announce();
    };
  }

  /**
   * True when it is too late to begin a write for a task: this process was suspended (SIGSTOP, a machine that slept) between
   * its poll and now, and somebody may have decided what became of the write.
   */
  hasExpired(taskId: string): boolean {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return true;
    const { responseTimeoutSeconds, sincePollMs } = task;
    return responseTimeoutSeconds > 0 && sincePollMs() > responseTimeoutSeconds * 1_000 * partForBeginning;
  }

  /** The engine has the result, or nobody wants it any more. */
  done(taskId: string): void {
    this.#tasks.delete(taskId);
    this.#announce();
  }

  /** How many tasks of a type fit below `limit`; waits until at least one does. 0 when `signal` aborts first. */
  async room(taskType: string, { limit, signal }: { limit: number; signal: AbortSignal }): Promise<number> {
    for (;;) {
      if (signal.aborted) return 0;
      const room = limit - this.tasks(taskType);
      if (room > 0) return room;
      await this.#change(signal);
    }
  }

  /** Resolves when no poll is open and no task is in hand, or when `signal` aborts. */
  async idle(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (this.#polls > 0 || this.#tasks.size > 0)) await this.#change(signal);
  }

  async #change(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<undefined>();
    const onAbort = () => aborted.resolve(undefined);
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([this.#changed.promise, aborted.promise]);
    signal.removeEventListener('abort', onAbort);
  }

  #announce(): void {
    this.#changed.resolve(undefined);
    this.#changed = Promise.withResolvers<undefined>();
  }
}
