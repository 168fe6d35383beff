// Where limits are counted, as configured: here, or in Redis with a choice for when that is away.

import type { Config } from '../../../config/schema.ts';
import type { RouterServices } from '../../../gateway/contract.ts';
import { type Places, PlacesInMemory, PlacesInRedis, PlacesWithFallback } from './places.ts';
import { SharedRedis } from './shared-redis.ts';
import { type Windows, WindowsInMemory, WindowsInRedis, WindowsWithFallback } from './windows.ts';

export interface Stores {
  readonly windows: Windows;
  readonly places: Places;
}

/** Added to the longest that a request takes: its place is not free before its answer has been read. Milliseconds. */
const graceMs = 5_000;

/** How long a place in Redis stays taken when its router is killed, in milliseconds: longer than any request takes. */
export function leaseMs(config: Config): number {
  const waitMs = Math.max(config['router.waitBudgetMs'], config['router.maxWaitMs']);
  return config['router.requestTimeoutMs'] + waitMs + config['router.answerTimeoutMs'] + graceMs;
}

/** @throws Error when `limits.store` is `redis` and there is no `redis.url` */
export function createStores({ config, log, onStop }: Pick<RouterServices, 'config' | 'log' | 'onStop'>): Stores {
  if (config['limits.store'] === 'memory') return { windows: new WindowsInMemory(), places: new PlacesInMemory() };
  const url = config['redis.url'];
  if (url === undefined) throw new Error('limits.store = redis needs redis.url');
  const redis = new SharedRedis(url, log);
  redis.start();
  onStop('redis of limits', () => redis.stop());
  const windows = new WindowsInRedis(redis);
  const places = new PlacesInRedis(redis, leaseMs(config));
  if (config['limits.whenRedisIsAway'] === 'refuse') return { windows, places };
  return { windows: new WindowsWithFallback(windows), places: new PlacesWithFallback(places) };
}
