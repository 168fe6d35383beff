// Where limits are counted, as configured: here, or in Redis with a choice for when that is away.

import type { Config } from '#lib/config/schema.ts';
import type { SharedServices } from '../../../gateway/plugin-api/plugin-api.ts';
import { outageNotice } from '#lib/redis/connect-redis.ts';
import {
  type ConcurrencyStore,
  MemoryConcurrencyStore,
  RedisConcurrencyStore,
  FallbackConcurrencyStore,
} from './concurrency-store.ts';
import {
  type RateLimitStore,
  MemoryRateLimitStore,
  RedisRateLimitStore,
  FallbackRateLimitStore,
} from './rate-limit-store.ts';

export interface Stores {
  readonly windows: RateLimitStore;
  readonly places: ConcurrencyStore;
}

/** Added to the longest that a request takes: its place is not free before its answer has been read. Milliseconds. */
const graceMs = 5_000;

/** How long a place in Redis stays taken when its router is killed, in milliseconds: longer than any request takes. */
export function leaseMs(config: Config): number {
  const waitMs = Math.max(config['router.waitBudgetMs'], config['router.maxWaitMs']);
  return config['router.requestTimeoutMs'] + waitMs + config['router.answerTimeoutMs'] + graceMs;
}

type StoreServices = Pick<SharedServices, 'config' | 'redis' | 'addReadinessNotice'>;

/** @throws Error when `limits.store` is `redis` and there is no `redis.url` */
export function createStores({ config, redis, addReadinessNotice }: StoreServices): Stores {
  if (config['limits.store'] === 'memory')
    return { windows: new MemoryRateLimitStore(), places: new MemoryConcurrencyStore() };
  if (redis === undefined) throw new Error('limits.store = redis needs redis.url');
  const windows = new RedisRateLimitStore(redis);
  const places = new RedisConcurrencyStore(redis, leaseMs(config));
  const refuses = config['limits.whenRedisIsAway'] === 'refuse';
  const effect = refuses ? 'requests with a limit are refused' : 'each router counts limits by itself';
  addReadinessNotice('limits', outageNotice(redis, effect));
  if (refuses) return { windows, places };
  return { windows: new FallbackRateLimitStore(windows), places: new FallbackConcurrencyStore(places) };
}
