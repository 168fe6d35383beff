// How long a place is held on average, over the last seconds.

/** What is so old, in milliseconds, counts for 1/e of what is new. */
const memoryMs = 3_000;

/**
 * An average over time, not over places: a moment at which everything stood still has made all places that were taken
 * wait, and is one moment all the same.
 */
export class HeldTime {
  #sum = 0;
  #weight = 0;
  #addedAt = 0;

  /** In milliseconds; 0 before the first. */
  get ms(): number {
    return this.#weight === 0 ? 0 : this.#sum / this.#weight;
  }

  /** One was held for `heldMs` until `now` (performance.now()). */
  add(heldMs: number, now: number): void {
    const kept = Math.exp((this.#addedAt - now) / memoryMs);
    this.#sum = this.#sum * kept + heldMs;
    this.#weight = this.#weight * kept + 1;
    this.#addedAt = now;
  }
}
