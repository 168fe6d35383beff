// Idempotency locks in Redis, shared by several routers. During an outage of Redis no lock is granted, so nothing is
// started twice.

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from '#lib/redis/redis.ts';
import { RedisUnavailable } from '#lib/redis/redis-unavailable.ts';
import { releaseLock } from '#lib/redis/release-lock.ts';
import { Problem } from '#lib/problem/problem.ts';
import { type IdempotencyLock, type IdempotencyLocks, LocalIdempotencyLocks } from './idempotency-locks.ts';

const keyPrefix = 'service-router:';

/** Locks in Redis that use `SET NX` with a time to live. Requests on one router compete for a local lock first. */
export class RedisIdempotencyLocks implements IdempotencyLocks {
  readonly #redis: Redis;
  readonly #local: LocalIdempotencyLocks;
  readonly #ttlMs: number;

  /** @param ttlMs time after which a lock expires, in milliseconds */
  constructor(redis: Redis, ttlMs: number) {
    this.#redis = redis;
    this.#ttlMs = ttlMs;
    this.#local = new LocalIdempotencyLocks(ttlMs);
  }

  async acquire(name: string): Promise<IdempotencyLock | null> {
    const local = await this.#local.acquire(name);
    if (local === null) return null;
    const key = keyPrefix + name;
    const holder = randomUUID();
    const release = () => void releaseLock(this.#redis, key, holder).finally(local.release);
    try {
      const expiration = { type: 'PX', value: this.#ttlMs } as const;
      const reply = await this.#redis.run((client) => client.set(key, holder, { condition: 'NX', expiration }));
      if (reply === 'OK') return { expiresAt: local.expiresAt, release };
      local.release();
      return null;
    } catch (cause) {
      if (cause instanceof RedisUnavailable && !cause.mayHaveRun) local.release();
      else release();
      const detail = 'Redis, which keeps two routers from starting the same request, does not respond.';
      throw new Problem('idempotency-unavailable', { detail, headers: { 'retry-after': '1' }, cause });
    }
  }

  /**
   * Waits for the release of the local lock. Other routers do not announce releases, so a wait for one of their locks
   * takes `withinMs`.
   */
  async waitForRelease(name: string, withinMs: number): Promise<void> {
    if (this.#local.holds(name)) await this.#local.waitForRelease(name, withinMs);
    else await pause(withinMs);
  }
}
