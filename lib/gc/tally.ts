// Sums by key: a key whose sum is 0 is forgotten.

export class Tally {
  readonly #sums = new Map<string, number>();
  #total = 0;

  /** Of all keys together. */
  get total(): number {
    return this.#total;
  }

  /** 0 for a key that is not known. */
  of(key: string): number {
    return this.#sums.get(key) ?? 0;
  }

  add(key: string, change: number): void {
    const sum = this.of(key) + change;
    if (sum === 0) this.#sums.delete(key);
    else this.#sums.set(key, sum);
    this.#total += change;
  }

  /** Those that are not 0, in the order in which they came to be. */
  [Symbol.iterator](): IterableIterator<[string, number]> {
    return this.#sums[Symbol.iterator]();
  }
}
