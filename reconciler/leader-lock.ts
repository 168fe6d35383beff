// One reconciler at a time, where Redis is there to say whose turn it is.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createClient } from 'redis';
import { errorFields, type Logger } from '../logging/log.ts';

/** Whether this instance is to work now. */
export interface LeaderLock {
  /** Takes the lock or keeps it. Never rejects. */
  hold(): Promise<boolean>;
  /** Lets go of it, so that another instance need not wait until it runs out. */
  release(): Promise<void>;
}

/** For a single instance, and for several without Redis: each works, and what both do is done once in effect. */
export const noLock: LeaderLock = { hold: async () => true, release: async () => undefined };

/** How long a round waits for Redis, in milliseconds. */
const connectMs = 1_000;

const key = 'service-router:reconciler';
const extend = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`;
const remove = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

export interface RedisLockOptions {
  readonly url: string;
  /** How long the lock outlives its holder, in milliseconds. */
  readonly ttlMs: number;
  readonly log: Logger;
}

/** A lock on one key. While Redis is away every instance holds it. */
export class RedisLock implements LeaderLock {
  readonly #client;
  readonly #ttlMs: number;
  readonly #log: Logger;
  readonly #holder = randomUUID();
  #away = false;

  constructor({ url, ttlMs, log }: RedisLockOptions) {
    this.#ttlMs = ttlMs;
    this.#log = log;
    this.#client = createClient({
      url,
      disableOfflineQueue: true,
      socket: { reconnectStrategy: () => 1_000, connectTimeout: 2_000 },
    });
    this.#client.on('error', (error: unknown) => this.#noteAway(error));
  }

  async hold(): Promise<boolean> {
    try {
      await this.#connected();
      const mine = { keys: [key], arguments: [this.#holder, String(this.#ttlMs)] };
      if ((await this.#client.eval(extend, mine)) === 1) return true;
      const taken = await this.#client.set(key, this.#holder, {
        condition: 'NX',
        expiration: { type: 'PX', value: this.#ttlMs },
      });
      this.#away = false;
      return taken === 'OK';
    } catch (error) {
      this.#noteAway(error);
      return true;
    }
  }

  /** The client tries for ever; a round does not wait for that. @throws Error when there is no connection now */
  async #connected(): Promise<void> {
    if (this.#client.isReady) return;
    const failed = new AbortController();
    const ready = once(this.#client, 'ready', { signal: failed.signal });
    if (!this.#client.isOpen) this.#client.connect().catch((error: unknown) => this.#noteAway(error));
    const timer = setTimeout(() => failed.abort(new Error('no connection to redis')), connectMs);
    await ready.finally(() => clearTimeout(timer));
  }

  async release(): Promise<void> {
    try {
      if (this.#client.isReady) await this.#client.eval(remove, { keys: [key], arguments: [this.#holder] });
    } catch (error) {
      this.#noteAway(error);
    } finally {
      if (this.#client.isOpen) this.#client.destroy();
    }
  }

  #noteAway(error: unknown): void {
    if (!this.#away) this.#log.warn(errorFields(error), 'redis is away: every router reconciles');
    this.#away = true;
  }
}
