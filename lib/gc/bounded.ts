// Provides collections with a maximum size that evict their oldest entry.

import { TransientMap } from './transient-map.ts';

/**
 * A TransientMap that evicts the entry that was inserted first. Setting a known key keeps its position; delete the key
 * first to make it the newest.
 */
export class BoundedMap<K, V> extends TransientMap<K, V> {
  readonly #maxSize: number;

  /** @param maxSize maximum number of entries, at least 1 */
  constructor(maxSize: number) {
    super();
    this.#maxSize = maxSize;
  }

  override set(key: K, value: V): this {
    super.set(key, value);
    if (this.size > this.#maxSize) this.delete(this.keys().next().value as K);
    return this;
  }
}

/**
 * A Set that evicts the value that was added first. Adding a known value keeps its position; delete the value first to
 * make it the newest.
 */
export class BoundedSet<T> extends Set<T> {
  readonly #maxSize: number;

  /** @param maxSize maximum number of values, at least 1 */
  constructor(maxSize: number) {
    super();
    this.#maxSize = maxSize;
  }

  override add(value: T): this {
    super.add(value);
    if (this.size > this.#maxSize) this.delete(this.values().next().value as T);
    return this;
  }
}
