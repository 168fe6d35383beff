// Requests counted in windows: in this process, or in Redis for all routers together.

import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { RedisAway, type SharedRedis } from './shared-redis.ts';

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
export interface Windows {
  /**
   * Counts one request.
   * @param window the limit of this key; one key always comes with the same
   * @throws RedisAway
   */
  count(key: string, window: Window): Promise<Counted>;
}

/** In the memory of this process. */
export class WindowsInMemory implements Windows {
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
export class WindowsInRedis implements Windows {
  readonly #redis: SharedRedis;
  readonly #limiters = new Map<string, RateLimiterRedis>();

  constructor(redis: SharedRedis) {
    this.#redis = redis;
  }

  count(key: string, { requests, seconds }: Window): Promise<Counted> {
    const limit = `${requests}/${seconds}`;
    return this.#redis.ask((storeClient) => {
      let limiter = this.#limiters.get(limit);
      if (limiter === undefined) {
        const keyPrefix = `service-router:rate:${limit}`;
        limiter = new RateLimiterRedis({
          storeClient,
          keyPrefix,
          points: requests,
          duration: seconds,
          useRedisPackage: true,
        });
        this.#limiters.set(limit, limiter);
      }
      return counted(limiter.consume(key));
    });
  }
}

/** Counts in Redis; while that is away, in this process. */
export class WindowsWithFallback implements Windows {
  readonly #shared: Windows;
  readonly #own = new WindowsInMemory();

  constructor(shared: Windows) {
    this.#shared = shared;
  }

  async count(key: string, window: Window): Promise<Counted> {
    try {
      return await this.#shared.count(key, window);
    } catch (error) {
      if (!(error instanceof RedisAway)) throw error;
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
