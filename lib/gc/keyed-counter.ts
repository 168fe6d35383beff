// Counts by key. A key whose count returns to 0 is deleted, so idle keys use no memory.

/** Counters by key, with their total. */
export class KeyedCounter {
  readonly #sums = new Map<string, number>();
  #total = 0;

  /** The sum of all counts. */
  get total(): number {
    return this.#total;
  }

  /** Returns the count of a key; 0 for an unknown key. */
  of(key: string): number {
    return this.#sums.get(key) ?? 0;
  }

  /** Adds `change` to the count of a key. @param change may be negative */
  add(key: string, change: number): void {
    const sum = this.of(key) + change;
    if (sum === 0) this.#sums.delete(key);
    else this.#sums.set(key, sum);
    this.#total += change;
  }

  /** Iterates over the keys whose count is not 0, with their counts, in insertion order. */
  [Symbol.iterator](): IterableIterator<[string, number]> {
    return this.#sums[Symbol.iterator]();
  }
}
