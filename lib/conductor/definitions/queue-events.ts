// Events that come from a queue of the broker (RabbitMQ) and not from a workflow: their names, and why they end in a number.

/** `amqp_queue:<queue>.<MIS code>?order=<number>`. The engine's other AMQP type, `amqp_exchange`, never acknowledges a message. */
const queueEvent = /^amqp_queue:[a-z][a-z.]*\.([0-9A-Za-z]{1,8})\?order=(\d+)$/;

/** The fields of a message (lib/openapi/mdm-update.schema.json). */
export const queueFields: readonly string[] = ['misCode', 'sisPersonId', 'cccid', 'updateId'];

/** Places in the largest table of events that is thought of. */
const places = 1_024;

/** True for an event of the broker's. */
export function isQueueEvent(event: string): boolean {
  return event.startsWith('amqp_queue:');
}

/** The college whose queue it is; undefined for an event of any other kind. */
export function collegeOf(event: string): string | undefined {
  return queueEvent.exec(event)?.[1];
}

/** What is wrong with the name of an event of the broker's; undefined when nothing is. */
export function problemOfQueueEvent(event: string): string | undefined {
  if (!queueEvent.test(event)) return 'must be amqp_queue:<queue>.<MIS code>?order=<number>';
  const ordered = withOrder(event);
  return ordered === event ? undefined : `must be ${ordered}: the engine subscribes in the order of its hash table`;
}

/**
 * The same event with the number that makes it the last one. The engine subscribes to its events one after the other, as
 * they lie in a Java `HashSet`, and waits at one of the broker's until the broker answers. All others have to come
 * before. It reads no `order`: the number only moves the event to the last place of any table up to 1,024 places.
 */
export function withOrder(event: string): string {
  const base = event.replace(/\?.*$/, '');
  for (let order = 0; ; order++) {
    const candidate = `${base}?order=${order}`;
    if (placeOf(candidate) === places - 1) return candidate;
  }
}

/** `HashMap`: the hash of the string, its upper half folded in, cut to the size of the table. */
function placeOf(text: string): number {
  let hash = 0;
  for (let index = 0; index < text.length; index++) hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0;
  return (hash ^ (hash >>> 16)) & (places - 1);
}
