// Creates the stores of the limits from the configuration: in memory, or in Redis with a fallback or a rejection while
// Redis is unavailable.

import type { Config } from '#lib/config/schema.ts';
import type { SharedServices } from '../../../gateway/plugin-api/plugin-api.ts';
import { outageNotice } from '#lib/redis/connect-redis.ts';
import { RedisUnavailable } from '#lib/redis/redis-unavailable.ts';
import { type ConcurrencyStore, MemoryConcurrencyStore, RedisConcurrencyStore } from './concurrency-store.ts';
import { type RateLimitStore, MemoryRateLimitStore, RedisRateLimitStore } from './rate-limit-store.ts';

/** The stores of the two kinds of limits. */
export interface Stores {
  readonly rateLimits: RateLimitStore;
  readonly concurrency: ConcurrencyStore;
}

/** Margin of the lease in milliseconds: a permit must stay in use until the client has read the response. */
const graceMs = 5_000;

/**
 * Lease of a permit in Redis, in milliseconds: longer than any request takes, so that only permits of killed routers
 * expire.
 */
export function leaseMs(config: Config): number {
  const waitMs = Math.max(config['router.responseDeadlineMs'], config['router.maxWaitMs']);
  return config['router.requestTimeoutMs'] + waitMs + config['router.responseSendTimeoutMs'] + graceMs;
}

type StoreServices = Pick<SharedServices, 'config' | 'redis' | 'addReadinessNotice'>;

/**
 * Creates the stores.
 * @throws Error when `limits.store` is `redis` and there is no `redis.url`
 */
export function createStores({ config, redis, addReadinessNotice }: StoreServices): Stores {
  const local: Stores = { rateLimits: new MemoryRateLimitStore(), concurrency: new MemoryConcurrencyStore() };
  if (config['limits.store'] === 'memory') return local;
  if (redis === undefined) throw new Error('limits.store = redis needs redis.url');
  const rateLimits = new RedisRateLimitStore(redis);
  const concurrency = new RedisConcurrencyStore(redis, leaseMs(config));
  const refuses = config['limits.whenRedisIsAway'] === 'refuse';
  const effect = refuses ? 'requests with a limit are refused' : 'each router counts limits by itself';
  addReadinessNotice('limits', outageNotice(redis, effect));
  if (refuses) return { rateLimits, concurrency };
  return {
    rateLimits: {
      count: (...limit) => rateLimits.count(...limit).catch(whenAway(() => local.rateLimits.count(...limit))),
    },
    concurrency: {
      acquire: (...limit) => concurrency.acquire(...limit).catch(whenAway(() => local.concurrency.acquire(...limit))),
    },
  };
}

/** Returns the handler of an error: counts in the memory of this process while Redis is unavailable. */
function whenAway<T>(count: () => Promise<T>): (error: unknown) => Promise<T> {
  return async (error) => {
    if (error instanceof RedisUnavailable) return count();
    throw error;
  };
}
