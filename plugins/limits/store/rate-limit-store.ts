// Requests counted in windows: in this process, or in Redis for all routers together.

import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { type Redis, type RedisClient, RedisUnavailable } from '#lib/redis/redis.ts';

/** So many requests in a window that begins with the first of them. */
export interface Window {
  readonly requests: number;
  readonly seconds: number;
}

/** What a count came to. */
export interface Counted {
  readonly isAllowed: boolean;
  /** Requests left in this window. */
  readonly left: number;
  /** Until the window ends, in milliseconds. */
  readonly endsInMs: number;
}

/** Counts requests by key. */
export interface RateLimitStore {
  /**
   * Counts one request.
   * @param window the limit of this key; one key always comes with the same
   * @throws RedisUnavailable
   */
  count(key: string, window: Window): Promise<Counted>;
}

/** In the memory of this process. */
export class MemoryRateLimitStore implements RateLimitStore {
  readonly #limiters = new Map<string, RateLimiterMemory>();

  count(key: string, { requests, seconds }: Window): Promise<Counted> {
    const limit = `${requests}/${seconds}`;
    let limiter = this.#limiters.get(limit);
    if (limiter === undefined) {
      limiter = new RateLimiterMemory({ points: requests, duration: seconds });
      this.#limiters.set(limit, limiter);
    }
    return counted(limiter.consume(key));
  }
}

/** In Redis: a window is that of all routers. */
export class RedisRateLimitStore implements RateLimitStore {
  readonly #redis: Redis;
  readonly #limiters = new Map<string, RateLimiterRedis>();
  /** What the limiters send their commands through. */
  #client: RedisClient | undefined;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  count(key: string, { requests, seconds }: Window): Promise<Counted> {
    return this.#redis.run((client) => counted(this.#limiter(client, { requests, seconds }).consume(key)));
  }

  /** Counts are in Redis: limiters are made anew for each connection. */
  #limiter(storeClient: RedisClient, { requests: points, seconds: duration }: Window): RateLimiterRedis {
    if (storeClient !== this.#client) this.#limiters.clear();
    this.#client = storeClient;
    const limit = `${points}/${duration}`;
    let limiter = this.#limiters.get(limit);
    if (limiter === undefined) {
      const keyPrefix = `service-router:rate:${limit}`;
      limiter = new RateLimiterRedis({ storeClient, keyPrefix, points, duration, useRedisPackage: true });
      this.#limiters.set(limit, limiter);
    }
    return limiter;
  }
}

/** Counts in Redis; while that is away, in this process. */
export class FallbackRateLimitStore implements RateLimitStore {
  readonly #shared: RateLimitStore;
  readonly #own = new MemoryRateLimitStore();

  constructor(shared: RateLimitStore) {
    this.#shared = shared;
  }

  async count(key: string, window: Window): Promise<Counted> {
    try {
      return await this.#shared.count(key, window);
    } catch (error) {
      if (!(error instanceof RedisUnavailable)) throw error;
      return this.#own.count(key, window);
    }
  }
}

/** The library resolves with what is allowed and rejects with what is not. */
async function counted(consumption: Promise<RateLimiterRes>): Promise<Counted> {
  const describe = ({ remainingPoints, msBeforeNext }: RateLimiterRes) => ({
    left: remainingPoints,
    endsInMs: Math.max(0, msBeforeNext),
  });
  try {
    return { isAllowed: true, ...describe(await consumption) };
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    return { isAllowed: false, ...describe(refusal) };
  }
}
