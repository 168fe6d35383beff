// Wakes waiters and held polls, on this router or on others, when executions and queues change.

import type { ExecutionStatus } from '#lib/conductor/types.ts';
import type { QueueName, TaskQueues } from './task-queues.ts';
import type { CompletionWaiters } from './completion-waiters.ts';

/** Details of a change to an execution. They can save a read of the execution's status. */
export interface ChangeDetails {
  /** The new status, if the engine has returned it. */
  readonly status?: ExecutionStatus | undefined;
  /**
   * The task that was completed. The new status can sometimes be derived from this task and the workflow definition.
   */
  readonly completed?: CompletedTask | undefined;
}

/** A completed task, with its reference name and its output. */
export interface CompletedTask {
  readonly referenceName: string;
  readonly output: Record<string, unknown>;
}

/**
 * A wake-up between routers. The loss of a wake-up delays a response until the next timed read, but no task or response
 * is lost.
 */
export type PeerWakeUp =
  | ({ changed: string } & ChangeDetails)
  | { appeared: readonly QueueName[] }
  | { expected: readonly QueueName[] };

/** Publishes wake-ups to the other routers. */
export interface Peers {
  publish(wakeUp: PeerWakeUp): void;
}

/**
 * Wakes waiters and held polls on this router. Publishes a wake-up to the other routers if nobody here waits for it.
 */
export class WakeUps {
  readonly #waiters: CompletionWaiters;
  readonly #queues: TaskQueues;
  readonly #peers: Peers;

  /** @param peers receive the wake-ups for which nobody waits at this router */
  constructor(waiters: CompletionWaiters, queues: TaskQueues, peers: Peers) {
    this.#waiters = waiters;
    this.#queues = queues;
    this.#peers = peers;
  }

  /** Wakes the waiters of a changed execution, here or at another router. */
  executionChanged(executionId: string, details: ChangeDetails = {}): void {
    if (!this.#waiters.wake(executionId, details.status)) this.#peers.publish({ changed: executionId, ...details });
  }

  /** Wakes the polls of queues that have tasks now, or may have some. */
  tasksAppeared(names: readonly QueueName[]): void {
    const elsewhere = names.filter((name) => !this.#queues.announce(name));
    if (elsewhere.length > 0) this.#peers.publish({ appeared: elsewhere });
  }

  /** Prepares queues for tasks that may be scheduled within a few hundred milliseconds. */
  tasksExpected(names: readonly QueueName[]): void {
    const elsewhere = names.filter((name) => !this.#queues.expect(name));
    if (elsewhere.length > 0) this.#peers.publish({ expected: elsewhere });
  }

  /** Applies a wake-up from another router; never publishes it again. */
  receive(wakeUp: PeerWakeUp): void {
    if ('changed' in wakeUp) this.#waiters.wake(wakeUp.changed, wakeUp.status);
    else if ('appeared' in wakeUp) for (const name of wakeUp.appeared) this.#queues.announce(name);
    else for (const name of wakeUp.expected) this.#queues.expect(name);
  }
}
