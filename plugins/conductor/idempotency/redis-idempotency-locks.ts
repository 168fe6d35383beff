// Claims that several routers share, in Redis. During an outage of Redis none is given: nothing is started twice.

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Redis, RedisUnavailable } from '#lib/redis/redis.ts';
import { Problem } from '#lib/problem/problem.ts';
import { type IdempotencyLock, type IdempotencyLocks, LocalIdempotencyLocks } from './idempotency-locks.ts';

const prefix = 'service-router:';
const remove = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

/** `SET NX` with a time to live; requests of one router settle it among themselves before. */
export class RedisIdempotencyLocks implements IdempotencyLocks {
  readonly #redis: Redis;
  readonly #local: LocalIdempotencyLocks;
  readonly #ttlMs: number;

  /** @param ttlMs how long a claim that is not given back is kept, in milliseconds */
  constructor(redis: Redis, ttlMs: number) {
    this.#redis = redis;
    this.#ttlMs = ttlMs;
    this.#local = new LocalIdempotencyLocks(ttlMs);
  }

  async take(name: string): Promise<IdempotencyLock | null> {
    const local = await this.#local.take(name);
    if (local === null) return null;
    const key = prefix + name;
    const holder = randomUUID();
    const release = () => {
      const removed = this.#redis.runEventually((client) => client.eval(remove, { keys: [key], arguments: [holder] }));
      void removed.finally(local.release);
    };
    try {
      const expiration = { type: 'PX', value: this.#ttlMs } as const;
      const taken = await this.#redis.run((client) => client.set(key, holder, { condition: 'NX', expiration }));
      if (taken === 'OK') return { expiresAt: local.expiresAt, release };
      local.release();
      return null;
    } catch (cause) {
      if (cause instanceof RedisUnavailable && !cause.mayHaveRun) local.release();
      else release();
      const detail = 'Redis, which keeps two routers from starting the same request, does not answer.';
      throw new Problem('idempotency-unavailable', { detail, headers: { 'retry-after': '1' }, cause });
    }
  }

  /** Another router says nothing when it gives a claim back. */
  async whenFree(name: string, withinMs: number): Promise<void> {
    if (this.#local.holds(name)) await this.#local.whenFree(name, withinMs);
    else await pause(withinMs);
  }
}
