// Figures of a history that are no violations: unacknowledged, repeated and late writes, and times of recovery.

import { isSuccess } from './check-history.ts';
import { operationsOf } from './gather-operations.ts';
import type { AnyEvent } from './history.ts';

/** Writes that the back end applied although no client was told so: not a violation, but worth a number. */
export function countUnacknowledged(events: readonly AnyEvent[]): { applied: number; withoutMdm: number } {
  const unknown = operationsOf(events).filter(
    ({ applied, ends }) => applied.length > 0 && !ends.some((end) => end.event === 'answer' && isSuccess(end.status)),
  );
  const patches = unknown.filter(({ invoke, notified }) => invoke.method === 'PATCH' && notified.length === 0);
  return { applied: unknown.length, withoutMdm: patches.length };
}

/** Repeated writes that the back end answered from the record of their key: sent twice, applied once. */
export function countReplays(events: readonly AnyEvent[]): number {
  return events.filter((event) => event.actor === 'back-end' && event.event === 'replayed').length;
}

/** Writes that the back end applied later than `afterMs` after the first request for them had been sent. */
export function countLateWrites(events: readonly AnyEvent[], afterMs: number): number {
  const counted = new Set<object>();
  let late = 0;
  for (const { invoke, applied } of operationsOf(events)) {
    if (counted.has(applied)) continue;
    counted.add(applied);
    late += applied.filter(({ at }) => at - invoke.at > afterMs).length;
  }
  return late;
}

/** Milliseconds from each `mended` to the first success of a request that was sent after it. */
export function recoveryTimes(events: readonly AnyEvent[]): { what: string; ms: number }[] {
  const successes = operationsOf(events)
    .filter(({ invoke }) => invoke.auth === 'good' && invoke.route !== 'health' && invoke.route !== 'token')
    .flatMap(({ invoke, ends }) =>
      ends
        .filter((end) => end.event === 'answer' && isSuccess(end.status))
        .map((end) => ({ sentAt: invoke.at, at: end.at })),
    );
  return events.flatMap((event) => {
    if (event.actor !== 'nemesis' || event.event !== 'mended') return [];
    const after = successes.filter(({ sentAt }) => sentAt >= event.at).map(({ at }) => at);
    // Not Math.min(...after): the list may be longer than a call takes arguments.
    const first = after.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY);
    return [{ what: event.what, ms: Math.round(first - event.at) }];
  });
}
