// Who may start the execution of a key: one request at a time, in this router.

import { setTimeout as pause } from 'node:timers/promises';

/** The right to start what a key stands for. */
export interface IdempotencyLock {
  /** From then on (performance.now()) somebody else may have it. */
  readonly expiresAt: number;
  /** Gives it back. Without it the claim is kept until it expires: what was sent may still take effect. */
  release(): void;
}

export interface IdempotencyLocks {
  /**
   * @returns null while somebody else has it
   * @throws Problem `idempotency-unavailable` (503) when nobody can tell
   */
  take(name: string): Promise<IdempotencyLock | null>;
  /** Resolves when it may be free, at the latest after so many milliseconds. */
  whenFree(name: string, withinMs: number): Promise<void>;
}

interface Held {
  readonly freed: Promise<void>;
}

/** Claims in memory: enough for one router, lost when it ends. */
export class LocalIdempotencyLocks implements IdempotencyLocks {
  readonly #held = new Map<string, Held>();
  readonly #ttlMs: number;

  /** @param ttlMs how long a claim that is not given back is kept, in milliseconds */
  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  /** Claims that are not given back yet. */
  get size(): number {
    return this.#held.size;
  }

  async take(name: string): Promise<IdempotencyLock | null> {
    if (this.#held.has(name)) return null;
    const { promise: freed, resolve } = Promise.withResolvers<void>();
    const held: Held = { freed };
    const release = () => {
      clearTimeout(timer);
      if (this.#held.get(name) === held) this.#held.delete(name);
      resolve();
    };
    const timer = setTimeout(release, this.#ttlMs).unref();
    this.#held.set(name, held);
    return { expiresAt: performance.now() + this.#ttlMs, release };
  }

  /** True while somebody here has it. */
  holds(name: string): boolean {
    return this.#held.has(name);
  }

  async whenFree(name: string, withinMs: number): Promise<void> {
    const enough = new AbortController();
    const late = pause(withinMs, undefined, { signal: enough.signal }).catch(() => undefined);
    await Promise.race([this.#held.get(name)?.freed, late]);
    enough.abort();
  }
}
