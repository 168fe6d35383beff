// A map for what comes and goes with each request: what has been deleted from it is garbage at once.

/** Holds one value, and lets go of it while a table that nobody uses any more still holds the box. */
interface Box<V> {
  value: V | undefined;
}

/**
 * Like a Map, in the order of insertion.
 *
 * As entries come and go V8 gives a Map a new table every few of them. The table before keeps the entries it had, and
 * points at the one that replaced it. Once such a table has reached the old generation, all that follow it and whatever
 * is in them survive every quick collection until the next full one. With requests as values that was a third of all
 * that was allocated, copied twice, in pauses of 30 ms. So tables hold boxes here, and a box is emptied when its entry
 * goes. Keys stay in those tables: let them be ids, or objects that live long.
 */
export class TransientMap<K, V> {
  readonly #boxes = new Map<K, Box<V>>();

  get size(): number {
    return this.#boxes.size;
  }

  get(key: K): V | undefined {
    return this.#boxes.get(key)?.value;
  }

  has(key: K): boolean {
    return this.#boxes.has(key);
  }

  /** An entry that is there already keeps its place. */
  set(key: K, value: V): this {
    const box = this.#boxes.get(key);
    if (box === undefined) this.#boxes.set(key, { value });
    else box.value = value;
    return this;
  }

  /** @returns false when it is not there */
  delete(key: K): boolean {
    const box = this.#boxes.get(key);
    if (box === undefined) return false;
    box.value = undefined;
    return this.#boxes.delete(key);
  }

  clear(): void {
    if (this.#boxes.size === 0) return;
    for (const box of this.#boxes.values()) box.value = undefined;
    this.#boxes.clear();
  }

  keys(): MapIterator<K> {
    return this.#boxes.keys();
  }

  /** Entries may be deleted on the way. */
  *[Symbol.iterator](): Generator<[K, V]> {
    for (const [key, box] of this.#boxes) yield [key, box.value as V];
  }
}
