// What this router learns and somebody waits for: told to its own waits and parked polls, else to its peers.

import type { ExecutionStatus } from '#lib/conductor/types.ts';
import type { QueueName, TaskQueues } from './task-queues.ts';
import type { CompletionWaiters } from './completion-waiters.ts';

/** A hint between router instances. Losing one costs a fallback read, never a task or an answer. */
export type PeerWakeUp = { changed: string } | { appeared: readonly QueueName[] } | { expected: readonly QueueName[] };

/** Carries hints to the other instances. */
export interface Peers {
  publish(hint: PeerWakeUp): void;
}

export class WakeUps {
  readonly #waits: CompletionWaiters;
  readonly #queues: TaskQueues;
  readonly #peers: Peers;

  /** @param peers told only what nobody waits for here */
  constructor(waits: CompletionWaiters, queues: TaskQueues, peers: Peers) {
    this.#waits = waits;
    this.#queues = queues;
    this.#peers = peers;
  }

  /** An execution has changed; `status` when the engine said it. */
  executionChanged(executionId: string, status?: ExecutionStatus): void {
    if (!this.#waits.wake(executionId, status)) this.#peers.publish({ changed: executionId });
  }

  /** Tasks are in these queues now, or may be. */
  tasksAppeared(names: readonly QueueName[]): void {
    const elsewhere = names.filter((name) => !this.#queues.announce(name));
    if (elsewhere.length > 0) this.#peers.publish({ appeared: elsewhere });
  }

  /** Tasks may come into these queues within some hundred milliseconds. */
  tasksExpected(names: readonly QueueName[]): void {
    const elsewhere = names.filter((name) => !this.#queues.expect(name));
    if (elsewhere.length > 0) this.#peers.publish({ expected: elsewhere });
  }

  /** A hint of a peer: acted upon here, never passed on. */
  receive(hint: PeerWakeUp): void {
    if ('changed' in hint) this.#waits.wake(hint.changed);
    else if ('appeared' in hint) for (const name of hint.appeared) this.#queues.announce(name);
    else for (const name of hint.expected) this.#queues.expect(name);
  }
}
