// Idempotency locks: only one request at a time may start the execution for a key.

import { setTimeout as pause } from 'node:timers/promises';

/** A lock on a key: the right to start its execution. */
export interface IdempotencyLock {
  /** Time (performance.now()) at which the lock expires. From then on, another request may acquire it. */
  readonly expiresAt: number;
  /**
   * Releases the lock. A lock that is not released is held until it expires, because a start that was sent may still
   * take effect.
   */
  release(): void;
}

/** Locks, each identified by the name of a key. */
export interface IdempotencyLocks {
  /**
   * Acquires the lock with this name.
   * @returns null while another request holds it
   * @throws Problem `idempotency-unavailable` (503) when the lock's state is unknown
   */
  acquire(name: string): Promise<IdempotencyLock | null>;
  /** Resolves when the lock may be free, or after `withinMs` milliseconds. */
  waitForRelease(name: string, withinMs: number): Promise<void>;
}

/** Locks in memory, for a single router. They are lost when the router ends. */
export class LocalIdempotencyLocks implements IdempotencyLocks {
  /** For each held lock, by name, a promise that resolves when the lock is released or expires. */
  readonly #held = new Map<string, Promise<void>>();
  readonly #ttlMs: number;

  /** @param ttlMs time after which a lock expires, in milliseconds */
  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  /** Number of locks that are held. */
  get size(): number {
    return this.#held.size;
  }

  async acquire(name: string): Promise<IdempotencyLock | null> {
    if (this.#held.has(name)) return null;
    const { promise: released, resolve } = Promise.withResolvers<void>();
    const release = () => {
      clearTimeout(timer);
      if (this.#held.get(name) === released) this.#held.delete(name);
      resolve();
    };
    const timer = setTimeout(release, this.#ttlMs).unref();
    this.#held.set(name, released);
    return { expiresAt: performance.now() + this.#ttlMs, release };
  }

  /** True while a request on this router holds the lock. */
  holds(name: string): boolean {
    return this.#held.has(name);
  }

  async waitForRelease(name: string, withinMs: number): Promise<void> {
    const timeout = new AbortController();
    const expired = pause(withinMs, undefined, { signal: timeout.signal }).catch(() => undefined);
    await Promise.race([this.#held.get(name), expired]);
    timeout.abort();
  }
}
