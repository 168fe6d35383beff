// Distinguishes lost events from events that are still waiting in the engine's queue.

import { patchWorkflow } from '#lib/conductor/definitions/mdm-workflows.ts';

/** Reads the length of every queue of the engine, by name. */
export type ReadQueueSizes = () => Promise<Readonly<Record<string, number>>>;

/** Age, in grace periods, from which an event counts as lost even while its queue is not empty. */
const maxPeriods = 5;

/**
 * The events that PATCHes have published and the engine has not handled yet. An engine handles events one after the
 * other, oldest first, so an event is no longer in its queue once the event of a later PATCH has been handled. If the
 * reconciler started the execution for an event that is still waiting, it would double the work of an engine that is
 * already behind.
 */
export class EventBacklog {
  readonly #maxWaitMs: number;
  #isEmpty = true;
  /** The latest end time among the PATCHes that MDM was notified of (milliseconds since 1970). */
  #handledUpTo = 0;

  /** @param afterMs grace period for the engine, in milliseconds */
  constructor(afterMs: number) {
    this.#maxWaitMs = afterMs * maxPeriods;
  }

  /** Reads the length of the queue. A failure is ignored: no event counts as waiting in that case. */
  async refresh(readQueueSizes: ReadQueueSizes): Promise<void> {
    const sizes = await readQueueSizes().catch(() => ({}));
    this.#isEmpty = !Object.entries(sizes).some(([name, size]) => name.startsWith(`${patchWorkflow}:`) && size > 0);
  }

  /** Records that MDM was notified of a PATCH. @param endedAt milliseconds since 1970 */
  noteHandled(endedAt: number): void {
    if (endedAt > this.#handledUpTo) this.#handledUpTo = endedAt;
  }

  /** Returns true when the event of a PATCH that ended at `endedAt` may still be in its queue. */
  mayContain(endedAt: number, now: number): boolean {
    return !this.#isEmpty && endedAt > this.#handledUpTo && now - endedAt < this.#maxWaitMs;
  }
}
