// Wires the connection to Redis of a router: its metric, and what `/health/ready` says of an outage.

import { Gauge, type Registry } from 'prom-client';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { Redis } from './redis.ts';

export interface ConnectRedisOptions {
  readonly url: string;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** Returns a connection that is being made. To be stopped after everything that uses it. */
export function connectRedis({ url, log, metrics }: ConnectRedisOptions): Redis {
  const redis = new Redis(url, log);
  redis.start();
  new Gauge({
    name: 'router_redis_up',
    help: '1 while Redis answers, 0 while it is away or hung; absent without redis.url',
    registers: [metrics],
    collect() {
      this.set(redis.isAnswering ? 1 : 0);
    },
  });
  return redis;
}

/** Returns a readiness notice. @param effect what does not work, or works otherwise, during an outage of Redis */
export function outageNotice(redis: Redis, effect: string): () => readonly string[] {
  return () => (redis.isAnswering ? [] : [`Redis is not answering: ${effect}`]);
}
