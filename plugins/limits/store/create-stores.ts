// Creates the stores of the limits from the configuration: in memory, or in Redis. While Redis is unavailable, requests
// are counted in memory or rejected, as configured.

import type { Config } from '#lib/config/schema.ts';
import { actionsOf, type GatewayRoute } from '../../../gateway/plugin-api/gateway-routes.ts';
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
 * @param routes the routes of the configuration, which may have response deadlines of their own
 */
export function leaseMs(config: Config, routes: readonly Pick<GatewayRoute, 'steps'>[]): number {
  const deadlines = routes
    .flatMap(({ steps }) => actionsOf(steps, 'workflow'))
    .map(({ responseDeadlineMs, waitBudgetMs }) => Number(responseDeadlineMs ?? waitBudgetMs ?? 0));
  const waitMs = Math.max(config['router.responseDeadlineMs'], config['router.maxWaitMs'], ...deadlines);
  return config['router.requestTimeoutMs'] + waitMs + config['router.responseSendTimeoutMs'] + graceMs;
}

type StoreServices = Pick<SharedServices, 'config' | 'redis' | 'addReadinessNotice'>;

/**
 * Creates the stores.
 * @param lease lease of a permit in Redis, in milliseconds
 * @throws Error when `limits.store` is `redis` and there is no `redis.url`
 */
export function createStores({ config, redis, addReadinessNotice }: StoreServices, lease: number): Stores {
  const local: Stores = { rateLimits: new MemoryRateLimitStore(), concurrency: new MemoryConcurrencyStore() };
  if (config['limits.store'] === 'memory') return local;
  if (redis === undefined) throw new Error('limits.store = redis needs redis.url');
  const rateLimits = new RedisRateLimitStore(redis);
  const concurrency = new RedisConcurrencyStore(redis, lease);
  const refuses = config['limits.whenRedisIsAway'] === 'refuse';
  const effect = refuses ? 'requests that have a limit are refused' : 'each router counts requests by itself';
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

/** Returns an error handler that falls back to counting in the memory of this process when Redis is unavailable. */
function whenAway<T>(count: () => Promise<T>): (error: unknown) => Promise<T> {
  return async (error) => {
    if (error instanceof RedisUnavailable) return count();
    throw error;
  };
}
