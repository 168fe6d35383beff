// Counts requests during load shedding, so that requests above a client's rate still reach the pipeline, where their
// rejection is delayed.

/** A fixed-window counter. One window covers all keys; the counts are dropped at its end. */
export class SheddingCounts {
  readonly #counts = new Map<string, number>();
  readonly #windowMs: number;
  #endsAt = Number.NEGATIVE_INFINITY;

  /** @param windowMs length of the window, in milliseconds */
  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /**
   * Counts one request for a key.
   * @param now performance.now()
   * @returns false when the key has more than `max` requests in this window
   */
  count(key: string, max: number, now = performance.now()): boolean {
    if (now >= this.#endsAt) {
      this.#counts.clear();
      this.#endsAt = now + this.#windowMs;
    }
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count <= max;
  }
}
