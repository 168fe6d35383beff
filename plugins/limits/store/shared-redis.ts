// The Redis that several routers count in: one connection, made in the background, and no call that keeps a request waiting.

import { createClient } from 'redis';
import { errorFields, type Logger } from '../../../logging/log.ts';

/** Pause between tries to reach Redis again, in milliseconds. */
const reconnectMs = 500;
/** Longest a request waits for Redis before it counts as away, in milliseconds. */
const patienceMs = 250;

export type RedisConnection = ReturnType<typeof createClient>;

/** Redis is away, or does not answer in time. */
export class RedisAway extends Error {}

export class SharedRedis {
  readonly connection: RedisConnection;
  readonly #log: Logger;
  #away = false;

  /** @param url `redis://…` or `rediss://…` */
  constructor(url: string, log: Logger) {
    this.#log = log;
    this.connection = createClient({
      url,
      disableOfflineQueue: true,
      socket: { reconnectStrategy: () => reconnectMs, connectTimeout: 2_000 },
    }) as RedisConnection;
    this.connection.on('error', (error: unknown) => this.#noteAway(error));
    this.connection.on('ready', () => this.#noteBack());
  }

  /** Connects in the background; nothing waits for it. */
  start(): void {
    this.connection.connect().catch((error: unknown) => this.#noteAway(error));
  }

  stop(): void {
    if (this.connection.isOpen) this.connection.destroy();
  }

  /**
   * Asks Redis.
   * @throws RedisAway when it cannot be reached or takes longer than a quarter of a second
   */
  async ask<T>(question: (connection: RedisConnection) => Promise<T>): Promise<T> {
    if (!this.connection.isReady) throw new RedisAway('redis is not connected');
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(reject, patienceMs, new RedisAway(`redis did not answer within ${patienceMs} ms`));
    try {
      return await Promise.race([question(this.connection), late]);
    } catch (error) {
      this.#noteAway(error);
      throw error instanceof RedisAway ? error : new RedisAway((error as Error).message, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  #noteAway(error: unknown): void {
    if (!this.#away) this.#log.warn(errorFields(error), 'redis is away: limits are not shared with other routers');
    this.#away = true;
  }

  #noteBack(): void {
    if (this.#away) this.#log.info('redis is back');
    this.#away = false;
  }
}
