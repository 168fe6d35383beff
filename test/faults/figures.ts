// Computes figures of a history, apart from its violations: availability, recovery, and unacknowledged, repeated and
// late writes.

import { isOutstanding, isSuccess } from './check-history.ts';
import type { Violation } from './violation.ts';
import { type Fault, faultsOf, type Operation, operationOf, operationsOf } from './gather-operations.ts';
import type { AnyEvent, Route } from './history.ts';

const isServed = ({ ends }: Operation) => ends.some((end) => end.event === 'answer' && isSuccess(end.status));

/** Counts applied writes without an acknowledgement, and the PATCHes among them of which MDM was not notified. */
export function countUnacknowledged(events: readonly AnyEvent[]): { applied: number; withoutMdm: number } {
  const operations = operationsOf(events);
  const acknowledged = new Set(operations.filter(isServed).map(({ invoke }) => operationOf(invoke)));
  const isUnknown = ({ invoke, applied }: Operation) => applied.length > 0 && !acknowledged.has(operationOf(invoke));
  const unknown = operations.filter(isUnknown);
  const withoutMdm = unknown.filter(({ invoke, notified }) => invoke.method === 'PATCH' && notified.length === 0);
  const countOnce = (some: readonly Operation[]) => new Set(some.map(({ invoke }) => operationOf(invoke))).size;
  return { applied: countOnce(unknown), withoutMdm: countOnce(withoutMdm) };
}

/**
 * Counts PATCHes with a 2xx response, PATCHes unknown to MDM or a college, and writes that were applied twice.
 */
export function countPatches(
  events: readonly AnyEvent[],
  violations: readonly Violation[],
): { acknowledged: number; lost: number; doubled: number } {
  const patches = operationsOf(events).filter(({ invoke }) => invoke.method === 'PATCH' && invoke.route !== 'refused');
  const acknowledged = new Set(patches.filter(isServed).map(({ invoke }) => operationOf(invoke)));
  const lost = violations.filter(isOutstanding).length;
  const isDoubled = ({ invariant, what }: Violation) => /^I[12]$/.test(invariant) && / times|^MDM counted/.test(what);
  return { acknowledged: acknowledged.size, lost, doubled: violations.filter(isDoubled).length };
}

/** Counts repeated writes for which the back end replayed its response: sent twice, applied once. */
export function countReplays(events: readonly AnyEvent[]): number {
  return events.filter((event) => event.actor === 'back-end' && event.event === 'replayed').length;
}

/** How long clients repeated one request, in milliseconds. */
export interface Repetition {
  /** Longest time between the first and the last request of one operation. */
  readonly ms: number;
  /** Longest part of that time in which no engine was killed. */
  readonly undisturbedMs: number;
}

/**
 * Returns the longest repetitions. A message that a killed engine had taken from a queue returns to the queue only when
 * an engine has run for one to two minutes. A request that needs the message has no outcome as long as kills follow
 * each other faster than that.
 */
export function longestRepetition(events: readonly AnyEvent[]): Repetition {
  const kills = faultsOf(events).filter(({ kind }) => kind === 'engine' || kind === "engine's Redis");
  const operations = operationsOf(events);
  const firsts = firstRequestsOf(operations);
  const lasts = new Map(operations.map(({ invoke }) => [operationOf(invoke), invoke.at]));
  const spans = [...firsts].map(([operation, first]) => ({ first, last: lasts.get(operation) ?? first }));
  const longest = (of: (span: { first: number; last: number }) => number) =>
    spans.reduce((most, span) => Math.max(most, of(span)), 0);
  return {
    ms: longest(({ first, last }) => last - first),
    undisturbedMs: longest(({ first, last }) => {
      const within = kills.filter(({ from, to }) => from < last && to > first);
      const starts = [first, ...within.map(({ to }) => to)];
      const ends = [...within.map(({ from }) => from), last];
      return Math.max(...starts.map((start, index) => (ends[index] as number) - start));
    }),
  };
}

/** Returns when the first request of each operation was sent. */
function firstRequestsOf(operations: readonly Operation[]): Map<string, number> {
  return new Map(operations.toReversed().map(({ invoke }) => [operationOf(invoke), invoke.at]));
}

/** Counts writes that the back end applied more than `afterMs` milliseconds after the request had been sent. */
export function countLateWrites(events: readonly AnyEvent[], afterMs: number): number {
  const isLate = ({ invoke, applied }: Operation) =>
    applied.some(({ op, at }) => op === invoke.op && at - invoke.at > afterMs);
  return operationsOf(events).filter(isLate).length;
}

/** The recovery from one fault. Times are in milliseconds; undefined when no later request succeeded. */
export interface Recovery {
  readonly kind: string;
  /** Time from the repair to the first success of a request sent after the repair, on the slowest broken route. */
  readonly ms: number | undefined;
  /** Time from the fault to the first success, which may precede the repair when there is a second engine or router. */
  readonly outageMs: number | undefined;
}

/** Returns the recovery from each fault that broke a route and was repaired. */
export function recoveriesOf(events: readonly AnyEvent[]): Recovery[] {
  const served = operationsOf(events).filter((operation) => operation.invoke.auth === 'good' && isServed(operation));
  return faultsOf(events)
    .filter(({ breaks, to }) => breaks.length > 0 && to !== Number.POSITIVE_INFINITY)
    .map((fault) => ({
      kind: fault.kind ?? fault.what,
      ms: slowestSuccess(fault, fault.to, served),
      outageMs: slowestSuccess(fault, fault.from, served),
    }));
}

/** Returns the milliseconds from `since` until every broken route has served a request that was sent after `since`. */
function slowestSuccess(fault: Fault, since: number, served: readonly Operation[]): number | undefined {
  const firsts = fault.breaks.map((route) => firstSuccess({ route, router: fault.stops }, since, served));
  const slowest = Math.max(...firsts);
  return Number.isFinite(slowest) ? Math.round(slowest - since) : undefined;
}

function firstSuccess(
  { route, router }: { route: Route; router: string | undefined },
  since: number,
  served: readonly Operation[],
): number {
  let first = Number.POSITIVE_INFINITY;
  for (const { invoke, ends } of served) {
    if (invoke.route !== route || invoke.at < since || (router !== undefined && invoke.router !== router)) continue;
    first = Math.min(first, ends[0]?.at ?? first);
  }
  return first;
}

/** Number of requests with a good token that were sent while nothing was broken, and how many of them succeeded. */
export interface Availability {
  readonly requests: number;
  readonly succeeded: number;
}

/**
 * Returns the availability while no fault is active.
 * @param settleMs time after a repair that still belongs to the fault, in milliseconds
 */
export function availabilityOf(events: readonly AnyEvent[], settleMs: number): Availability {
  const faults = faultsOf(events);
  const operations = operationsOf(events);
  const firsts = firstRequestsOf(operations);
  // The response to a repeated request can be the outcome of an execution that an earlier request started during a
  // fault.
  const isUndisturbed = ({ invoke, ends }: Operation) => {
    const since = firsts.get(operationOf(invoke)) ?? invoke.at;
    const end = ends[0]?.at ?? Number.POSITIVE_INFINITY;
    return faults.every(({ from, to }) => end < from || since > to + settleMs);
  };
  const counted = operations.filter((operation) => isOrdinary(operation) && isUndisturbed(operation));
  return { requests: counted.length, succeeded: counted.filter((operation) => !hasFailed(operation)).length };
}

/**
 * Returns false for requests that must be rejected, whose client left, or that came too early (409; 404
 * `answer-pending`).
 */
function isOrdinary({ invoke, ends: [end] }: Operation): boolean {
  if (invoke.auth !== 'good' || invoke.route === 'refused') return false;
  return end === undefined || (end.event === 'closed' ? end.reason !== 'gone' : !tooEarly.has(end.problem ?? ''));
}

const tooEarly: ReadonlySet<string> = new Set(['idempotency-key-in-use', 'answer-pending']);

const hasFailed = ({ ends: [end] }: Operation) => end === undefined || end.event === 'closed' || end.status >= 400;

/** Counts requests by ending: `200`, `504 wait-budget-spent`, `closed ECONNRESET`. */
export function countEnds(events: readonly AnyEvent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const event of events) {
    if (event.actor !== 'client' || event.event === 'invoke') continue;
    const end = event.event === 'closed' ? `closed ${event.reason}` : `${event.status} ${event.problem ?? ''}`.trim();
    counts[end] = (counts[end] ?? 0) + 1;
  }
  return counts;
}

/** Returns median, 99th percentile (nearest rank) and maximum; undefined without values. */
export function quantilesOf(values: readonly number[]): { median: number; p99: number; worst: number } | undefined {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number;
  return sorted.length === 0 ? undefined : { median: at(0.5), p99: at(0.99), worst: at(1) };
}
