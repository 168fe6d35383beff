// Gathers what a history says of each request of a client: how it ended, and what back ends and MDM did for it.

import type { BackEndEvent } from '../../dev/back-ends/history.ts';
import type { AnyEvent, HistoryEvent } from './history.ts';

export type Invoke = Extract<HistoryEvent, { event: 'invoke' }>;
type Answer = Extract<HistoryEvent, { event: 'answer' }>;
type Closed = Extract<HistoryEvent, { event: 'closed' }>;
export type ClosedOrAnswered = Answer | Closed;
type Applied = Extract<BackEndEvent, { event: 'applied' }>;
type Received = Extract<BackEndEvent, { event: 'received' }>;
type Notified = Extract<BackEndEvent, { event: 'notified' }>;

/** What was done for one operation: for all requests with one `Idempotency-Key`, or for one request without. */
interface Effects {
  readonly received: Received[];
  readonly applied: Applied[];
  readonly notified: Notified[];
}

/** Everything known of one request of a client. Requests with the same key share their effects. */
export interface Operation extends Effects {
  readonly invoke: Invoke;
  readonly ends: ClosedOrAnswered[];
}

/** The requests of a history, in the order in which they were sent. */
export function operationsOf(events: readonly AnyEvent[]): Operation[] {
  const operations = new Map<string, Operation>();
  const shared = new Map<string, Effects>();
  for (const event of events) {
    if (event.actor !== 'client' || event.event !== 'invoke') continue;
    const effects = shared.get(event.key ?? '') ?? { received: [], applied: [], notified: [] };
    if (event.key !== undefined) shared.set(event.key, effects);
    operations.set(event.op, { invoke: event, ends: [], ...effects });
  }
  for (const event of events) {
    const operation = 'op' in event ? operations.get(event.op) : undefined;
    if (operation === undefined) continue;
    if (event.actor === 'mdm') operation.notified.push(event);
    else if (event.actor === 'client' && event.event !== 'invoke') operation.ends.push(event);
    // What MDM makes of a change carries the same id, to another target.
    else if (event.actor === 'back-end' && event.target.endsWith(operation.invoke.target)) {
      if (event.event === 'applied') operation.applied.push(event);
      // A reconciler may read the same resource.
      else if (event.event === 'received' && event.method === operation.invoke.method) operation.received.push(event);
    }
  }
  return [...operations.values()];
}
