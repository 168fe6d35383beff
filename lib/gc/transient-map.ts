// A Map for request-scoped entries, whose deleted values become garbage at the next minor collection.

/**
 * Holds one value. The box is emptied when the entry is deleted, because replaced tables of the Map still refer to the
 * box.
 */
interface Box<V> {
  value: V | undefined;
}

/**
 * Like a Map, in insertion order.
 *
 * V8 replaces the hash table of a Map after every few insertions and deletions. A replaced table keeps its entries and
 * points to its successor. Once a replaced table is in the old generation, all its successors and their entries survive
 * every minor collection until the next major one. With requests as values, such survivors were a third of all
 * allocations and were copied twice, with pauses of 30 ms. Therefore, the tables of this map hold boxes, and deleting
 * an entry empties its box. Keys remain in replaced tables: use ids or long-lived objects as keys.
 */
export class TransientMap<K, V> {
  readonly #boxes = new Map<K, Box<V>>();

  /** Number of entries. */
  get size(): number {
    return this.#boxes.size;
  }

  /** Returns the value of a key; undefined when there is none. */
  get(key: K): V | undefined {
    return this.#boxes.get(key)?.value;
  }

  /** Returns true when the key has an entry. */
  has(key: K): boolean {
    return this.#boxes.has(key);
  }

  /** Sets a value. An existing entry keeps its position. */
  set(key: K, value: V): this {
    const box = this.#boxes.get(key);
    if (box === undefined) this.#boxes.set(key, { value });
    else box.value = value;
    return this;
  }

  /** Deletes an entry. @returns false when there was none */
  delete(key: K): boolean {
    const box = this.#boxes.get(key);
    if (box === undefined) return false;
    box.value = undefined;
    return this.#boxes.delete(key);
  }

  /** Deletes all entries. */
  clear(): void {
    if (this.#boxes.size === 0) return;
    for (const box of this.#boxes.values()) box.value = undefined;
    this.#boxes.clear();
  }

  /** Iterates over the keys. */
  keys(): MapIterator<K> {
    return this.#boxes.keys();
  }

  /** Iterates over the entries. Entries may be deleted during the iteration. */
  *[Symbol.iterator](): Generator<[K, V]> {
    for (const [key, box] of this.#boxes) yield [key, box.value as V];
  }
}
