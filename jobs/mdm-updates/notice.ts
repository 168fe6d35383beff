// Reports, as readiness notices, why MDM's updates are not being consumed.

import type { EventEmitter } from 'node:events';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';

/** The watched connection and consumer. Both retry by themselves. */
export interface Watched {
  readonly connection: EventEmitter;
  readonly consumer: EventEmitter;
  /** Name of the queue that is consumed. */
  readonly queue: string;
  readonly log: Logger;
}

/**
 * Returns a function that tells why updates are waiting, if they are: the broker is unavailable, or the queue cannot be
 * consumed.
 */
export function watchConsumer({ connection, consumer, queue, log }: Watched): () => readonly string[] {
  let isConnected = false;
  let isRefused = false;
  connection.on('connection', () => (isConnected = true));
  connection.on('error', (error) => {
    if (isConnected) log.warn(errorFields(error), "the broker of MDM's updates is unavailable");
    isConnected = false;
  });
  consumer.on('ready', () => (isRefused = false));
  consumer.on('error', (error) => {
    log.warn(errorFields(error), "cannot consume MDM's updates");
    isRefused = true;
  });
  return () => {
    if (!isConnected) return ["the broker of MDM's updates does not respond: the updates wait in its queue"];
    return isRefused ? [`MDM's updates cannot be consumed: is there a queue ${queue} that this router may read?`] : [];
  };
}
