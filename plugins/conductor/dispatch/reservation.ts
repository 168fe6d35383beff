// Reserves a poll for a fetch, for a limited time.

import type { HeldPoll } from './held-poll.ts';

/** Maximum duration of a reservation (milliseconds): a slow engine must not keep a worker idle. */
const maxReservedMs = 100;

/**
 * Keeps one poll from getting ready tasks until the fetch in flight has ended. While all workers are busy, each poll
 * finds ready tasks. Without a reservation, no poll would then be held and nothing would be fetched.
 */
export class Reservation {
  #poll: HeldPoll | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** True for a poll whose timeout is at least as long as the longest reservation. */
  isPossible({ timeoutMs }: HeldPoll): boolean {
    return timeoutMs >= maxReservedMs;
  }

  /** True for the reserved poll. */
  isFor(poll: HeldPoll): boolean {
    return this.#poll === poll;
  }

  /** @param onExpired called when the reservation has expired */
  begin(poll: HeldPoll, onExpired: () => void): void {
    this.#poll = poll;
    this.#timer = setTimeout(() => {
      this.end();
      onExpired();
    }, maxReservedMs);
  }

  /** Ends the reservation, if there is one. */
  end(): void {
    clearTimeout(this.#timer);
    this.#poll = undefined;
  }
}
