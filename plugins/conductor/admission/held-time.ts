// Time-weighted moving average of how long permits are held.

/** Time constant in milliseconds: a value of this age weighs 1/e of a new one. */
const memoryMs = 3_000;

/**
 * Exponentially decaying average, in milliseconds. Decay follows time, not the number of samples: a stall that delays
 * all permits at once is one event, and loses weight like one.
 */
export class HeldTime {
  #sum = 0;
  #weight = 0;
  #addedAt = 0;

  /** Average in milliseconds; 0 before the first sample. */
  get ms(): number {
    return this.#weight === 0 ? 0 : this.#sum / this.#weight;
  }

  /** Adds a permit that was held for `heldMs` milliseconds and released at `now` (performance.now()). */
  add(heldMs: number, now: number): void {
    const decay = Math.exp((this.#addedAt - now) / memoryMs);
    this.#sum = this.#sum * decay + heldMs;
    this.#weight = this.#weight * decay + 1;
    this.#addedAt = now;
  }
}
