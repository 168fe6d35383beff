// Wake-ups between routers over Redis pub/sub. During a Redis outage, routers rely on their timed reads.

import { randomUUID } from 'node:crypto';
import type { Redis } from '#lib/redis/redis.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { PeerWakeUp, Peers } from './wake-ups.ts';

const channel = 'service-router:hints';

/** Dependencies of {@link RedisPeers}. */
export interface RedisPeersOptions {
  redis: Redis;
  log: Logger;
  /** Called with every wake-up of another router. */
  receive: (hint: PeerWakeUp) => void;
}

/** Publishes and receives wake-ups on one Redis channel. */
export class RedisPeers implements Peers {
  readonly #options: RedisPeersOptions;
  /** Identifies this router's own messages, which it ignores. */
  readonly #instance = randomUUID();
  readonly #unsubscribe: () => void;

  constructor(options: RedisPeersOptions) {
    this.#options = options;
    this.#unsubscribe = options.redis.subscribe(channel, (message) => this.#receive(message));
  }

  /** Publishes a wake-up. Drops it when Redis is unavailable: a late wake-up is useless. */
  publish(wakeUp: PeerWakeUp): void {
    const message = JSON.stringify({ from: this.#instance, hint: wakeUp });
    this.#options.redis.run((client) => client.publish(channel, message)).catch(() => undefined);
  }

  /** Ends the subscription. */
  stop(): void {
    this.#unsubscribe();
  }

  #receive(message: string): void {
    try {
      const { from, hint } = JSON.parse(message) as { from: string; hint: PeerWakeUp };
      if (from !== this.#instance) this.#options.receive(hint);
    } catch (error) {
      this.#options.log.warn(errorFields(error), 'ignored an invalid message on the wake-up channel');
    }
  }
}
