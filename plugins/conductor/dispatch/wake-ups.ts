// Wake-ups: changes of executions and queues wake waiters and held polls of this router, or of other routers.

import type { ExecutionStatus } from '#lib/conductor/types.ts';
import type { QueueName, TaskQueues } from './task-queues.ts';
import type { CompletionWaiters } from './completion-waiters.ts';

/** A wake-up between routers. A lost one delays a response until the next timed read; no task or response is lost. */
export type PeerWakeUp = { changed: string } | { appeared: readonly QueueName[] } | { expected: readonly QueueName[] };

/** Publishes wake-ups to the other routers. */
export interface Peers {
  publish(wakeUp: PeerWakeUp): void;
}

/** Wakes waiters and held polls on this router; publishes to other routers what has no waiter here. */
export class WakeUps {
  readonly #waiters: CompletionWaiters;
  readonly #queues: TaskQueues;
  readonly #peers: Peers;

  /** @param peers get the wake-ups without a waiter on this router */
  constructor(waiters: CompletionWaiters, queues: TaskQueues, peers: Peers) {
    this.#waiters = waiters;
    this.#queues = queues;
    this.#peers = peers;
  }

  /** Wakes the waiters of a changed execution. @param status the new status, if the engine has returned it */
  executionChanged(executionId: string, status?: ExecutionStatus): void {
    if (!this.#waiters.wake(executionId, status)) this.#peers.publish({ changed: executionId });
  }

  /** Wakes the polls of queues that have tasks now, or may have some. */
  tasksAppeared(names: readonly QueueName[]): void {
    const elsewhere = names.filter((name) => !this.#queues.announce(name));
    if (elsewhere.length > 0) this.#peers.publish({ appeared: elsewhere });
  }

  /** Prepares queues for tasks that may be scheduled within some hundred milliseconds. */
  tasksExpected(names: readonly QueueName[]): void {
    const elsewhere = names.filter((name) => !this.#queues.expect(name));
    if (elsewhere.length > 0) this.#peers.publish({ expected: elsewhere });
  }

  /** Applies a wake-up of another router; never publishes it again. */
  receive(wakeUp: PeerWakeUp): void {
    if ('changed' in wakeUp) this.#waiters.wake(wakeUp.changed);
    else if ('appeared' in wakeUp) for (const name of wakeUp.appeared) this.#queues.announce(name);
    else for (const name of wakeUp.expected) this.#queues.expect(name);
  }
}
