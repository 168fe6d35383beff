// Claims that several routers share, in Redis. While Redis is away none is given: nothing is started twice.

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from 'redis';
import { errorFields, type Logger } from '../../../logging/log.ts';
import { Problem } from '../../../problem/problem.ts';
import { type Claim, type Claims, LocalClaims } from './claims.ts';

export interface RedisClaimsOptions {
  readonly url: string;
  /** How long a claim that is not given back is kept, in milliseconds. */
  readonly ttlMs: number;
  readonly log: Logger;
}

const prefix = 'service-router:';
/** How long Redis may take to answer, in milliseconds. */
const answerMs = 1_000;
const reconnectMs = 500;
const remove = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

/** `SET NX` with a time to live; requests of one router settle it among themselves before. */
export class RedisClaims implements Claims {
  readonly #client;
  readonly #local: LocalClaims;
  readonly #ttlMs: number;
  readonly #log: Logger;
  #away = false;

  constructor({ url, ttlMs, log }: RedisClaimsOptions) {
    this.#ttlMs = ttlMs;
    this.#log = log;
    this.#local = new LocalClaims(ttlMs);
    this.#client = createClient({
      url,
      disableOfflineQueue: true,
      socket: { reconnectStrategy: () => reconnectMs, connectTimeout: 2_000 },
    });
    this.#client.on('error', (error: unknown) => this.#noteAway(error));
    this.#client.on('ready', () => this.#noteBack());
  }

  /** True while no claim can be given. */
  get isAway(): boolean {
    return !this.#client.isReady;
  }

  /** Connects in the background; nothing waits for it. */
  start(): void {
    this.#client.connect().catch((error: unknown) => this.#noteAway(error));
  }

  stop(): void {
    if (this.#client.isOpen) this.#client.destroy();
  }

  async take(name: string): Promise<Claim | null> {
    const local = await this.#local.take(name);
    if (local === null) return null;
    const key = prefix + name;
    const holder = randomUUID();
    const giveUp = () => this.#remove(key, holder).finally(local.release);
    try {
      const expiration = { type: 'PX', value: this.#ttlMs } as const;
      const taken = await within(answerMs, this.#client.set(key, holder, { condition: 'NX', expiration }));
      if (taken === 'OK') return { expiresAt: local.expiresAt, release: () => void giveUp() };
      local.release();
      return null;
    } catch (error) {
      this.#noteAway(error);
      // What was sent may have arrived.
      void giveUp();
      const detail = 'Redis, which keeps two routers from starting the same request, does not answer.';
      throw new Problem('idempotency-unavailable', { detail, headers: { 'retry-after': '1' }, cause: error });
    }
  }

  /** Another router says nothing when it gives a claim back. */
  async whenFree(name: string, withinMs: number): Promise<void> {
    if (this.#local.holds(name)) await this.#local.whenFree(name, withinMs);
    else await pause(withinMs);
  }

  async #remove(key: string, holder: string): Promise<void> {
    try {
      await within(answerMs, this.#client.eval(remove, { keys: [key], arguments: [holder] }));
    } catch (error) {
      this.#noteAway(error);
    }
  }

  #noteAway(error: unknown): void {
    if (!this.#away) this.#log.warn(errorFields(error), 'redis is away: requests with an Idempotency-Key are refused');
    this.#away = true;
  }

  #noteBack(): void {
    if (this.#away) this.#log.info('redis is back: requests with an Idempotency-Key are taken again');
    this.#away = false;
  }
}

/** @throws Error when it takes longer */
async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`redis did not answer within ${ms} ms`)), ms);
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
