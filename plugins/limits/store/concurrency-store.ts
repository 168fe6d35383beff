// Stores that count requests in flight: in memory for one router, in Redis for all routers together.

import { randomUUID } from 'node:crypto';
import { KeyedCounter } from '#lib/gc/keyed-counter.ts';
import type { Redis } from '#lib/redis/redis.ts';
import { RedisUnavailable } from '#lib/redis/redis-unavailable.ts';

/** Releases a permit. Call it once. */
export type ReleasePermit = () => void;

/** Grants permits for requests in flight, by key. */
export interface ConcurrencyStore {
  /**
   * Acquires one of `max` permits of a key.
   * @returns function that releases the permit; null when all are in use
   * @throws RedisUnavailable
   */
  acquire(key: string, max: number): Promise<ReleasePermit | null>;
}

/** Grants permits from counters in the memory of this process. */
export class MemoryConcurrencyStore implements ConcurrencyStore {
  readonly #inUse = new KeyedCounter();

  async acquire(key: string, max: number): Promise<ReleasePermit | null> {
    if (this.#inUse.of(key) >= max) return null;
    this.#inUse.add(key, 1);
    return () => this.#inUse.add(key, -1);
  }
}

/**
 * Acquires a permit from the sorted set of a key. The members are requests, and the scores are the times at which their
 * leases end (by Redis's clock), so that the permits of a killed router become free.
 */
const acquireScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`;

/** Grants permits that are recorded in Redis, for all routers together. */
export class RedisConcurrencyStore implements ConcurrencyStore {
  readonly #redis: Redis;
  readonly #leaseMs: number;

  /**
   * @param leaseMs how long a permit of a killed router stays in use, in milliseconds; longer than any request takes
   */
  constructor(redis: Redis, leaseMs: number) {
    this.#redis = redis;
    this.#leaseMs = leaseMs;
  }

  async acquire(key: string, max: number): Promise<ReleasePermit | null> {
    const name = `service-router:places:${key}`;
    const member = randomUUID();
    const argumentsOfScript = [String(max), String(this.#leaseMs), member];
    // If Redis never runs this command, the permit becomes free when its lease ends.
    const release = () => void this.#redis.runEventually((client) => client.zRem(name, member));
    try {
      const granted = await this.#redis.run((client) =>
        client.eval(acquireScript, { keys: [name], arguments: argumentsOfScript }),
      );
      return granted === 1 ? release : null;
    } catch (error) {
      if (error instanceof RedisUnavailable && error.mayHaveRun) release();
      throw error;
    }
  }
}
