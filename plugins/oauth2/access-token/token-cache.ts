// A cache of token properties by the SHA-256 of the token; tokens themselves are not stored.

import { hash } from 'node:crypto';

/** A cache that keeps the most recently used entries. The caller checks whether an entry has expired. */
export class TokenCache<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #maxEntries: number;

  /** @param maxEntries maximum number of entries */
  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  /** Returns the SHA-256 digest of a token (base64url), the key of its entry. */
  static keyOf(token: string): string {
    return hash('sha256', token, 'base64url');
  }

  /** Returns the entry and marks it as the most recently used; undefined when there is none. */
  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  /** Stores an entry. Above the limit, the least recently used entry is dropped. */
  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#maxEntries) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  /** Removes an entry, if there is one. */
  delete(key: string): void {
    this.#entries.delete(key);
  }
}
