// Figures of a history that are no violations: unacknowledged, repeated and late writes, and times of recovery.

import { isSuccess } from './check-history.ts';
import { type Operation, operationsOf } from './gather-operations.ts';
import type { AnyEvent } from './history.ts';

/** Writes that the back end applied although no client was told so: not a violation, but worth a number. */
export function countUnacknowledged(events: readonly AnyEvent[]): { applied: number; withoutMdm: number } {
  const operations = operationsOf(events);
  const isAcknowledged = ({ ends }: Operation) => ends.some((end) => end.event === 'answer' && isSuccess(end.status));
  // Requests with one key share what was applied.
  const acknowledged = new Set(operations.filter(isAcknowledged).map(({ applied }) => applied));
  const unknown = operations.filter(({ applied }) => applied.length > 0 && !acknowledged.has(applied));
  const withoutMdm = unknown.filter(({ invoke, notified }) => invoke.method === 'PATCH' && notified.length === 0);
  const countOnce = (some: readonly Operation[]) => new Set(some.map(({ applied }) => applied)).size;
  return { applied: countOnce(unknown), withoutMdm: countOnce(withoutMdm) };
}

/** Repeated writes that the back end answered from the record of their key: sent twice, applied once. */
export function countReplays(events: readonly AnyEvent[]): number {
  return events.filter((event) => event.actor === 'back-end' && event.event === 'replayed').length;
}

/** Writes that the back end applied later than `afterMs` after the request that it applied had been sent. */
export function countLateWrites(events: readonly AnyEvent[], afterMs: number): number {
  const isLate = ({ invoke, applied }: Operation) =>
    applied.some(({ op, at }) => op === invoke.op && at - invoke.at > afterMs);
  return operationsOf(events).filter(isLate).length;
}

/** Milliseconds from each `repaired` to the first success of a request that was sent after it. */
export function recoveryTimes(events: readonly AnyEvent[]): { what: string; ms: number }[] {
  const successes = operationsOf(events)
    .filter(({ invoke }) => invoke.auth === 'good' && invoke.route !== 'health' && invoke.route !== 'token')
    .flatMap(({ invoke, ends }) =>
      ends
        .filter((end) => end.event === 'answer' && isSuccess(end.status))
        .map((end) => ({ sentAt: invoke.at, at: end.at })),
    );
  return events.flatMap((event) => {
    if (event.actor !== 'nemesis' || event.event !== 'repaired') return [];
    const after = successes.filter(({ sentAt }) => sentAt >= event.at).map(({ at }) => at);
    // Not Math.min(...after): the list may be longer than a call takes arguments.
    const first = after.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY);
    return [{ what: event.what, ms: Math.round(first - event.at) }];
  });
}
