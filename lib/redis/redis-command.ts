// The types of a client of node-redis, and of a command that uses it.

import type { createClient } from 'redis';

/** A client of node-redis. */
export type RedisClient = ReturnType<typeof createClient>;

/** Runs one command. It must not retain `client`, which is replaced after an outage. */
export type RedisCommand<T> = (client: RedisClient) => Promise<T>;
