// Wake-ups between router instances over Redis pub/sub. During an outage of Redis the fallback timers do their work.

import { randomUUID } from 'node:crypto';
import type { Redis } from '#lib/redis/redis.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { PeerWakeUp, Peers } from './wake-ups.ts';

const channel = 'service-router:hints';

export interface RedisPeersOptions {
  redis: Redis;
  log: Logger;
  /** Called with every hint of another instance. */
  receive: (hint: PeerWakeUp) => void;
}

/** Peers that hear each other through one Redis channel. */
export class RedisPeers implements Peers {
  readonly #options: RedisPeersOptions;
  /** Tells our own messages from those of others. */
  readonly #instance = randomUUID();
  readonly #unsubscribe: () => void;

  constructor(options: RedisPeersOptions) {
    this.#options = options;
    this.#unsubscribe = options.redis.subscribe(channel, (message) => this.#hear(message));
  }

  /** A hint that cannot be sent now is dropped: it would be of no use later. */
  publish(hint: PeerWakeUp): void {
    const message = JSON.stringify({ from: this.#instance, hint });
    this.#options.redis.run((client) => client.publish(channel, message)).catch(() => undefined);
  }

  stop(): void {
    this.#unsubscribe();
  }

  #hear(message: string): void {
    try {
      const { from, hint } = JSON.parse(message) as { from: string; hint: PeerWakeUp };
      if (from !== this.#instance) this.#options.receive(hint);
    } catch (error) {
      this.#options.log.warn(errorFields(error), 'a message on the hints channel is none of ours');
    }
  }
}
