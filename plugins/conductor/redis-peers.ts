// Hints between router instances over Redis pub/sub. Redis away: the routers fall back to their own looks and reads.

import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { errorFields, type Logger } from '../../logging/log.ts';
import type { PeerHint, Peers } from './hints.ts';

const channel = 'service-router:hints';
/** Pause between tries to reach Redis again, in milliseconds. */
const reconnectMs = 500;

export interface RedisPeersOptions {
  url: string;
  log: Logger;
  /** Called with every hint of another instance. */
  receive: (hint: PeerHint) => void;
}

/** Peers that hear each other through one Redis channel. */
export class RedisPeers implements Peers {
  readonly #options: RedisPeersOptions;
  readonly #publisher;
  readonly #subscriber;
  /** Tells our own messages from those of others. */
  readonly #instance = randomUUID();
  #away = false;

  constructor(options: RedisPeersOptions) {
    this.#options = options;
    this.#publisher = createClient({
      url: options.url,
      // What cannot be sent now is of no use later.
      disableOfflineQueue: true,
      socket: { reconnectStrategy: () => reconnectMs, connectTimeout: 2_000 },
    });
    this.#subscriber = this.#publisher.duplicate({ disableOfflineQueue: false });
    for (const client of [this.#publisher, this.#subscriber]) {
      client.on('error', (error: unknown) => this.#noteAway(error));
      client.on('ready', () => this.#noteBack());
    }
  }

  /** Connects in the background; nothing waits for it. */
  start(): void {
    this.#publisher.connect().catch((error: unknown) => this.#noteAway(error));
    this.#subscriber
      .connect()
      .then(() => this.#subscriber.subscribe(channel, (message) => this.#hear(message)))
      .catch((error: unknown) => this.#noteAway(error));
  }

  publish(hint: PeerHint): void {
    if (!this.#publisher.isReady) return;
    this.#publisher
      .publish(channel, JSON.stringify({ from: this.#instance, hint }))
      .catch((error: unknown) => this.#noteAway(error));
  }

  stop(): void {
    for (const client of [this.#publisher, this.#subscriber]) if (client.isOpen) client.destroy();
  }

  #hear(message: string): void {
    try {
      const { from, hint } = JSON.parse(message) as { from: string; hint: PeerHint };
      if (from !== this.#instance) this.#options.receive(hint);
    } catch (error) {
      this.#options.log.warn(errorFields(error), 'a message on the hints channel is none of ours');
    }
  }

  #noteAway(error: unknown): void {
    if (!this.#away)
      this.#options.log.warn(errorFields(error), 'redis is away: hints between routers stop, answers do not');
    this.#away = true;
  }

  #noteBack(): void {
    if (this.#away) this.#options.log.info('redis is back');
    this.#away = false;
  }
}
