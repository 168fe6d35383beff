// Time-weighted moving average of how long permits are held.

/** Time constant in milliseconds: a value of this age has 1/e of the weight of a new one. */
const memoryMs = 3_000;

/**
 * Exponentially decaying average, in milliseconds. Values lose weight with time, not with the number of samples. After
 * a stall that delays many permits at once, their samples therefore lose weight as fast as a single sample.
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
