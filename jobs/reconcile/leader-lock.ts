// A leader lock in Redis: at most one router reconciles at a time.

import { randomUUID } from 'node:crypto';
import type { Redis } from '#lib/redis/redis.ts';
import { releaseLock } from '#lib/redis/release-lock.ts';

/** Decides whether this router reconciles. */
export interface LeaderLock {
  /** Acquires or renews the lock and returns whether this router holds it. Never rejects. */
  hold(): Promise<boolean>;
  /** Releases the lock, so that another router need not wait until it expires. Never rejects. */
  release(): Promise<void>;
}

/**
 * The lock that is used without Redis: every router reconciles. Repairs are idempotent, so duplicates have no effect.
 */
export const noLock: LeaderLock = { hold: async () => true, release: async () => undefined };

const key = 'service-router:reconciler';
const holdScript = `
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0`;

/**
 * A lock on one Redis key. During an outage of Redis every router holds the lock: repairs are idempotent, so concurrent
 * rounds do no harm.
 */
export class RedisLock implements LeaderLock {
  readonly #redis: Redis;
  readonly #ttlMs: number;
  readonly #holder = randomUUID();

  /** @param ttlMs time after which an unrenewed lock expires, in milliseconds */
  constructor(redis: Redis, ttlMs: number) {
    this.#redis = redis;
    this.#ttlMs = ttlMs;
  }

  async hold(): Promise<boolean> {
    await this.#redis.firstAttempt;
    const options = { keys: [key], arguments: [this.#holder, String(this.#ttlMs)] };
    try {
      return (await this.#redis.run((client) => client.eval(holdScript, options))) === 1;
    } catch {
      return true;
    }
  }

  release(): Promise<void> {
    return releaseLock(this.#redis, key, this.#holder);
  }
}
