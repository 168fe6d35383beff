// Names of events that come from a RabbitMQ queue, with the number that makes the engine subscribe to them last.

import { misCodePattern } from '#lib/config/mis-code.ts';

/** `amqp_queue:<queue>.<MIS code>?order=<number>`. The engine's other AMQP type, `amqp_exchange`, never acknowledges. */
const queueEvent = new RegExp(`^amqp_queue:[a-z][a-z.]*\\.(${misCodePattern})\\?order=\\d+$`);

/** The fields of a message (lib/openapi/mdm-update.schema.json). */
export const queueFields: readonly string[] = ['misCode', 'sisPersonId', 'cccid', 'updateId'];

/** Largest supported size of the engine's hash table of events. */
const maxTableSize = 1_024;

/** Returns true for an event of a RabbitMQ queue. */
export function isQueueEvent(event: string): boolean {
  return event.startsWith('amqp_queue:');
}

/** Returns the MIS code of the queue's college; undefined for any other event. */
export function collegeOf(event: string): string | undefined {
  return queueEvent.exec(event)?.[1];
}

/** Returns the problem of a queue event's name; undefined when there is none. */
export function problemOfQueueEvent(event: string): string | undefined {
  if (!queueEvent.test(event)) return 'must be amqp_queue:<queue>.<MIS code>?order=<number>';
  const ordered = withOrder(event);
  return ordered === event ? undefined : `must be ${ordered}: the engine subscribes in the order of its hash table`;
}

/**
 * Returns the event with the `order` that makes the engine subscribe to it last. The engine subscribes to its events one
 * after the other, in the iteration order of a Java `HashSet`, and a subscription to a RabbitMQ queue blocks until the broker
 * responds. All other events must therefore come first. The engine ignores `order`: the number only gives the event a hash
 * that sorts it into the last bucket of every table of up to 1,024 buckets.
 */
export function withOrder(event: string): string {
  const base = event.replace(/\?.*$/, '');
  for (let order = 0; ; order++) {
    const candidate = `${base}?order=${order}`;
    if (bucketOf(candidate) === maxTableSize - 1) return candidate;
  }
}

/** Java's `HashMap`: the hash of the string, XORed with its upper half, modulo the size of the table. */
function bucketOf(text: string): number {
  let hash = 0;
  for (let index = 0; index < text.length; index++) hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0;
  return (hash ^ (hash >>> 16)) & (maxTableSize - 1);
}
