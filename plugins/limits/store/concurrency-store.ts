// Places for requests in flight: in this process, or in Redis for all routers together.

import { randomUUID } from 'node:crypto';
import { type Redis, RedisUnavailable } from '#lib/redis/redis.ts';

/** Gives a place back. */
export type Leave = () => void;

/** Counts requests in flight by key. */
export interface ConcurrencyStore {
  /**
   * Takes one of `most` places.
   * @returns gives it back; null when all are taken
   * @throws RedisUnavailable
   */
  take(key: string, most: number): Promise<Leave | null>;
}

/** In the memory of this process. */
export class MemoryConcurrencyStore implements ConcurrencyStore {
  readonly #taken = new Map<string, number>();

  async take(key: string, most: number): Promise<Leave | null> {
    const taken = this.#taken.get(key) ?? 0;
    if (taken >= most) return null;
    this.#taken.set(key, taken + 1);
    return () => {
      const left = (this.#taken.get(key) ?? 1) - 1;
      if (left === 0) this.#taken.delete(key);
      else this.#taken.set(key, left);
    };
  }
}

/** Members are requests, scores the time at which a place is free again whatever became of its router. By Redis's clock. */
const takeScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`;

/** In Redis. */
export class RedisConcurrencyStore implements ConcurrencyStore {
  readonly #redis: Redis;
  readonly #leaseMs: number;

  /** @param leaseMs longer than any request takes: so long a place stays taken when its router is killed */
  constructor(redis: Redis, leaseMs: number) {
    this.#redis = redis;
    this.#leaseMs = leaseMs;
  }

  async take(key: string, most: number): Promise<Leave | null> {
    const name = `service-router:places:${key}`;
    const member = randomUUID();
    const argumentsOfScript = [String(most), String(this.#leaseMs), member];
    // A place that is not given back is free when its lease ends.
    const leave = () => void this.#redis.runEventually((client) => client.zRem(name, member));
    try {
      const took = await this.#redis.run((client) =>
        client.eval(takeScript, { keys: [name], arguments: argumentsOfScript }),
      );
      return took === 1 ? leave : null;
    } catch (error) {
      if (error instanceof RedisUnavailable && error.mayHaveRun) leave();
      throw error;
    }
  }
}

/** Takes places in Redis; while that is away, in this process. */
export class FallbackConcurrencyStore implements ConcurrencyStore {
  readonly #shared: ConcurrencyStore;
  readonly #own = new MemoryConcurrencyStore();

  constructor(shared: ConcurrencyStore) {
    this.#shared = shared;
  }

  async take(key: string, most: number): Promise<Leave | null> {
    try {
      return await this.#shared.take(key, most);
    } catch (error) {
      if (!(error instanceof RedisUnavailable)) throw error;
      return this.#own.take(key, most);
    }
  }
}
