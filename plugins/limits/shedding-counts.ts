// Requests that may be refused before their pipeline begins, counted: who sends more than its rate gets there and is slowed down.

/** Counts in windows that are the same for all keys; forgets them with the window. */
export class EarlyCounts {
  readonly #counts = new Map<string, number>();
  readonly #windowMs: number;
  #endsAt = Number.NEGATIVE_INFINITY;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Counts one. @param now performance.now() @returns false when it is more than `most` in this window */
  count(key: string, most: number, now = performance.now()): boolean {
    if (now >= this.#endsAt) {
      this.#counts.clear();
      this.#endsAt = now + this.#windowMs;
    }
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count <= most;
  }
}
