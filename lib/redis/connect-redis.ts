// Starts a router's Redis connection with its metric, and provides the notice that `/health/ready` shows during an
// outage.

import type { Registry } from 'prom-client';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { observeGauge } from '#lib/telemetry/observed-gauge.ts';
import type { Redis } from './redis.ts';

/** Options of {@link connectRedis}. */
export interface ConnectRedisOptions {
  readonly url: string;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** Returns a connection that is established in the background. Before you stop it, stop everything that uses it. */
export async function connectRedis({ url, log, metrics }: ConnectRedisOptions): Promise<Redis> {
  const { Redis } = await import('./redis.ts');
  const redis = new Redis(url, log);
  redis.start();
  const help = '1 while Redis responds, 0 while it is unreachable or hung; absent without redis.url';
  observeGauge(metrics, { name: 'router_redis_up', help }, () => (redis.isResponding ? 1 : 0));
  return redis;
}

/**
 * Returns a function that returns the readiness notices.
 * @param effect what does not work, or works differently, during a Redis outage
 */
export function outageNotice(redis: Redis, effect: string): () => readonly string[] {
  return () => (redis.isResponding ? [] : [`Redis does not respond: ${effect}`]);
}
