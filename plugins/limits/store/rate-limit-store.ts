// Stores that count requests in fixed windows: in memory for one router, in Redis for all routers together.

import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Redis } from '#lib/redis/redis.ts';
import type { RedisClient } from '#lib/redis/redis-command.ts';

/** A fixed-window rate limit. The window of a key starts with the first request for that key. */
export interface RateLimitWindow {
  readonly requests: number;
  /** Length of the window in seconds. */
  readonly seconds: number;
}

/** Result of counting one request. */
export interface RateLimitResult {
  readonly isAllowed: boolean;
  /** Remaining requests in this window. */
  readonly left: number;
  /** Time until the window ends, in milliseconds; at most the length of the window. */
  readonly endsInMs: number;
}

/** Counts requests in fixed windows, by key. */
export interface RateLimitStore {
  /**
   * Counts one request, whether or not it is allowed.
   * @param window the limit of this key; it must be the same in every call with this key
   * @throws RedisUnavailable
   */
  count(key: string, window: RateLimitWindow): Promise<RateLimitResult>;
}

/** Counts requests in the memory of this process. */
export class MemoryRateLimitStore implements RateLimitStore {
  readonly #limiters = new Map<string, RateLimiterMemory>();

  count(key: string, { requests, seconds }: RateLimitWindow): Promise<RateLimitResult> {
    const limit = `${requests}/${seconds}`;
    let limiter = this.#limiters.get(limit);
    if (limiter === undefined) {
      limiter = new RateLimiterMemory({ points: requests, duration: seconds });
      this.#limiters.set(limit, limiter);
    }
    return toResult(limiter.consume(key), seconds);
  }
}

/**
 * The Lua script of rate-limiter-flexible, extended so that it also shortens a window that ends too late. Redis stores
 * the time of day at which a key expires, so setting the clock back would extend the window.
 */
const countScript = `
redis.call('SET', KEYS[1], 0, 'EX', ARGV[2], 'NX')
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
local windowMs = 1000 * ARGV[2]
local endsInMs = redis.call('PTTL', KEYS[1])
if endsInMs < 0 or endsInMs > windowMs then
  redis.call('PEXPIRE', KEYS[1], windowMs)
  endsInMs = windowMs
end
return {count, endsInMs}`;

/** Counts requests in Redis, for all routers together. */
export class RedisRateLimitStore implements RateLimitStore {
  readonly #redis: Redis;
  readonly #limiters = new Map<string, RateLimiterRedis>();
  /** Connection that the limiters use. */
  #client: RedisClient | undefined;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  count(key: string, { requests, seconds }: RateLimitWindow): Promise<RateLimitResult> {
    return this.#redis.run((client) => toResult(this.#limiter(client, { requests, seconds }).consume(key), seconds));
  }

  /** Returns the limiter for a window. Limiters are created anew for each connection; the counts are in Redis. */
  #limiter(storeClient: RedisClient, { requests: points, seconds: duration }: RateLimitWindow): RateLimiterRedis {
    if (storeClient !== this.#client) this.#limiters.clear();
    this.#client = storeClient;
    const limit = `${points}/${duration}`;
    let limiter = this.#limiters.get(limit);
    if (limiter === undefined) {
      const keyPrefix = `service-router:rate:${limit}`;
      limiter = new RateLimiterRedis({
        ...{ storeClient, keyPrefix, points, duration },
        useRedisPackage: true,
        customIncrTtlLuaScript: countScript,
      });
      this.#limiters.set(limit, limiter);
    }
    return limiter;
  }
}

/**
 * Converts the result of rate-limiter-flexible, whose promise resolves for allowed requests and rejects for all others.
 * In memory, a timer ends each window, but `msBeforeNext` is computed from the time of day, which can be set back. The
 * remaining time is therefore limited to the length of the window.
 */
async function toResult(consumption: Promise<RateLimiterRes>, windowSeconds: number): Promise<RateLimitResult> {
  const describe = ({ remainingPoints, msBeforeNext }: RateLimiterRes) => ({
    left: remainingPoints,
    endsInMs: Math.min(Math.max(0, msBeforeNext), windowSeconds * 1_000),
  });
  try {
    return { isAllowed: true, ...describe(await consumption) };
  } catch (rejection) {
    if (!(rejection instanceof RateLimiterRes)) throw rejection;
    return { isAllowed: false, ...describe(rejection) };
  }
}
