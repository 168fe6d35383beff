// One reconciler at a time, where Redis is there to say whose turn it is.

import { randomUUID } from 'node:crypto';
import type { Redis } from '#lib/redis/redis.ts';

/** Whether this instance is to work now. */
export interface LeaderLock {
  /** Takes the lock or keeps it. Never rejects. */
  hold(): Promise<boolean>;
  /** Lets go of it, so that another instance need not wait until it runs out. Never rejects. */
  release(): Promise<void>;
}

/** For a single instance, and for several without Redis: each works, and what both do is done once in effect. */
export const noLock: LeaderLock = { hold: async () => true, release: async () => undefined };

const key = 'service-router:reconciler';
const hold = `
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0`;
const remove = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

/** A lock on one key. During an outage of Redis every instance holds it: a round that two run is done once in effect. */
export class RedisLock implements LeaderLock {
  readonly #redis: Redis;
  readonly #ttlMs: number;
  readonly #holder = randomUUID();

  /** @param ttlMs how long the lock outlives its holder, in milliseconds */
  constructor(redis: Redis, ttlMs: number) {
    this.#redis = redis;
    this.#ttlMs = ttlMs;
  }

  async hold(): Promise<boolean> {
    await this.#redis.firstAttempt;
    const mine = { keys: [key], arguments: [this.#holder, String(this.#ttlMs)] };
    try {
      return (await this.#redis.run((client) => client.eval(hold, mine))) === 1;
    } catch {
      return true;
    }
  }

  release(): Promise<void> {
    return this.#redis.runEventually((client) => client.eval(remove, { keys: [key], arguments: [this.#holder] }));
  }
}
