// Collects the records of each client request and each fault from a history.

import type { BackEndEvent } from '../../dev/back-ends/history.ts';
import type { AnyEvent, FaultDescription, HistoryEvent } from './history.ts';

export type Invoke = Extract<HistoryEvent, { event: 'invoke' }>;
type Answer = Extract<HistoryEvent, { event: 'answer' }>;
type Closed = Extract<HistoryEvent, { event: 'closed' }>;
export type ClosedOrAnswered = Answer | Closed;
type Applied = Extract<BackEndEvent, { event: 'applied' }>;
type Received = Extract<BackEndEvent, { event: 'received' }>;
type Notified = Extract<BackEndEvent, { event: 'notified' }>;

/** The effects of one operation, shared by all its requests. */
interface Effects {
  readonly received: Received[];
  readonly applied: Applied[];
  readonly notified: Notified[];
}

/** Everything that the history contains about one client request. Requests of one operation share their effects. */
export interface Operation extends Effects {
  readonly invoke: Invoke;
  readonly ends: ClosedOrAnswered[];
}

/** Returns the operation that a request belongs to: that of its key or execution, otherwise its own. */
export const operationOf = ({ operation, op }: Invoke) => operation ?? op;

/** Returns the requests of a history, in the order in which they were sent. */
export function operationsOf(events: readonly AnyEvent[]): Operation[] {
  const operations = new Map<string, Operation>();
  const shared = new Map<string, Effects>();
  for (const event of events) {
    if (event.actor !== 'client' || event.event !== 'invoke') continue;
    const effects = shared.get(operationOf(event)) ?? { received: [], applied: [], notified: [] };
    shared.set(operationOf(event), effects);
    operations.set(event.op, { invoke: event, ends: [], ...effects });
  }
  for (const event of events) {
    const operation = 'op' in event ? operations.get(event.op) : undefined;
    if (operation === undefined) continue;
    if (event.actor === 'mdm') operation.notified.push(event);
    else if (event.actor === 'client' && event.event !== 'invoke') operation.ends.push(event);
    // Requests that MDM triggers after a change have the same id but another target.
    else if (event.actor === 'back-end' && event.target.endsWith(operation.invoke.target)) {
      if (event.event === 'applied') operation.applied.push(event);
      // A reconciler may read the same resource.
      else if (event.event === 'received' && event.method === operation.invoke.method) operation.received.push(event);
    }
  }
  return [...operations.values()];
}

/** A fault and its period, in milliseconds since the epoch; `to` is infinite when the fault was never repaired. */
export interface Fault extends FaultDescription {
  readonly from: number;
  readonly to: number;
}

/** Returns the faults of a history, in the order in which they began. */
export function faultsOf(events: readonly AnyEvent[]): Fault[] {
  return events.flatMap((event, index) => {
    if (event.actor !== 'nemesis' || event.event !== 'fault') return [];
    const repaired = events
      .slice(index)
      .find((later) => later.actor === 'nemesis' && later.event === 'repaired' && later.what === event.what);
    const { at: from, actor: _actor, event: _event, ...description } = event;
    return [{ ...description, from, to: repaired?.at ?? Number.POSITIVE_INFINITY }];
  });
}
