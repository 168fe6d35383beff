// Exchanges messages between routers over Redis pub/sub, for wake-ups and direct dispatch. Messages are lost during a
// Redis outage.

import { randomUUID } from 'node:crypto';
import type { Redis } from '#lib/redis/redis.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { DispatchMessage, DispatchPeers } from './direct-dispatch.ts';
import type { PeerWakeUp, Peers } from './wake-ups.ts';

/** Messages on this channel have the field `hint`, as in earlier releases. */
const wakeUpChannel = 'service-router:hints';
/** Channel for messages to all routers. The name of a single router's channel ends with that router's id. */
const dispatchChannel = 'service-router:dispatch';

/** Dependencies of {@link RedisPeers}. */
export interface RedisPeersOptions {
  redis: Redis;
  log: Logger;
  /** Called with every wake-up from another router. */
  wakeUp: (wakeUp: PeerWakeUp) => void;
  /** Called with every message about direct dispatch for this router. */
  dispatch: (message: DispatchMessage, from: string) => void;
}

/** Exchanges messages with the other routers. */
export class RedisPeers implements Peers, DispatchPeers {
  readonly #options: RedisPeersOptions;
  /** Identifies this router. */
  readonly #instance = randomUUID();
  /** Channels on which this router receives messages about direct dispatch. */
  readonly #dispatchChannels = [dispatchChannel, `${dispatchChannel}:${this.#instance}`];
  readonly #unsubscribe: readonly (() => void)[];

  constructor(options: RedisPeersOptions) {
    const { redis, wakeUp, dispatch } = options;
    this.#options = options;
    const onDispatch = this.#receiver<{ message: DispatchMessage }>(({ message, from }) => dispatch(message, from));
    this.#unsubscribe = [
      redis.subscribe(
        wakeUpChannel,
        this.#receiver<{ hint: PeerWakeUp }>(({ hint }) => wakeUp(hint)),
      ),
      ...this.#dispatchChannels.map((channel) => redis.subscribe(channel, onDispatch)),
    ];
  }

  get isConfigured(): boolean {
    return true;
  }

  get isConnected(): boolean {
    const { redis } = this.#options;
    // The ACL of the Redis user may forbid a channel.
    return this.#dispatchChannels.every((channel) => redis.isSubscribed(channel));
  }

  /** Publishes a wake-up. Drops it when Redis is unavailable, because a late wake-up is useless. */
  publish(wakeUp: PeerWakeUp): void {
    this.#publish(wakeUpChannel, { hint: wakeUp });
  }

  /** Sends a message about direct dispatch. Drops it when Redis is unavailable. */
  send(message: DispatchMessage, router?: string): void {
    this.#publish(router === undefined ? dispatchChannel : `${dispatchChannel}:${router}`, { message });
  }

  /** Ends the subscriptions. */
  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  #publish(channel: string, fields: object): void {
    const text = JSON.stringify({ from: this.#instance, ...fields });
    this.#options.redis.run((client) => client.publish(channel, text)).catch(() => undefined);
  }

  /** Returns a listener that parses messages and ignores the messages that this router has sent. */
  #receiver<M>(receive: (message: M & { from: string }) => void): (text: string) => void {
    return (text) => {
      try {
        const message = JSON.parse(text) as M & { from: string };
        if (message.from !== this.#instance) receive(message);
      } catch (error) {
        this.#options.log.warn(errorFields(error), 'ignored an invalid message from another router');
      }
    };
  }
}
