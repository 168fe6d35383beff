// Determines what Redis servers lost when they were killed, and which violations in a history these losses explain. The
// module has no side effects.

import type { Invariant, Violation } from './violation.ts';
import { type Operation, operationOf, operationsOf } from './gather-operations.ts';
import type { AnyEvent, HistoryEvent } from './history.ts';

type Restarted = Extract<HistoryEvent, { event: 'restarted' }>;

/** The losses of the Redis servers in one run. */
export interface StoreLosses {
  /** Number of restarts after a kill. */
  readonly restarts: number;
  /** Number of test writes (marks) that were acknowledged before these kills, and how many of them were lost. */
  readonly marks: number;
  readonly lost: number;
  /** Longest period before a kill in which writes were lost, in milliseconds. */
  readonly longestMs: number;
  /** Number of violations that these losses explain; they are not among the violations of the run. */
  readonly explained: number;
  /** The first explained violations. */
  readonly examples: readonly Violation[];
}

/** Returns the losses of all restarts together; undefined when no watched Redis was killed. */
export function lossesOf(events: readonly AnyEvent[], explained: readonly Violation[]): StoreLosses | undefined {
  const restarts = restartsOf(events);
  if (restarts.length === 0) return undefined;
  const sum = (of: (restarted: Restarted) => number) => restarts.reduce((total, each) => total + of(each), 0);
  return {
    ...{ restarts: restarts.length, marks: sum(({ marks }) => marks), lost: sum(({ lost }) => lost) },
    longestMs: Math.max(...restarts.map(({ lost, from, to }) => (lost === 0 ? 0 : Math.round(to - from)))),
    ...{ explained: explained.length, examples: explained.slice(0, 10) },
  };
}

/** Returns a complaint for each kill that lost data although the data had been synced (`appendfsync always`). */
export function lostAlthoughSynced(events: readonly AnyEvent[]): string[] {
  return restartsOf(events)
    .filter(({ appendfsync, lost }) => appendfsync === 'always' && lost > 0)
    .map(
      ({ what, lost, marks }) => `${what} lost ${lost} of ${marks} acknowledged test writes despite appendfsync always`,
    );
}

/** Invariants that a loss can violate. The other invariants do not depend on stored data. */
const explainable: ReadonlySet<Invariant> = new Set(['I1', 'I2', 'I3']);

/**
 * Separates the violations that a measured loss explains from the others: with `appendfsync everysec`, a write is
 * durable only once it is synced. A loss explains a violation if the operation had an effect, or waited for its first
 * response, while Redis acknowledged writes that it later lost. Without a measured loss, no violation is explained.
 */
export function separateExplained(
  violations: readonly Violation[],
  events: readonly AnyEvent[],
): { violations: readonly Violation[]; explained: readonly Violation[] } {
  const losses = restartsOf(events).filter(({ appendfsync, lost }) => appendfsync === 'everysec' && lost > 0);
  if (losses.length === 0) return { violations, explained: [] };
  const operations = operationsOf(events);
  const isExplained = ({ invariant, subject }: Violation) =>
    explainable.has(invariant) && losses.some((loss) => touches(loss, subject, { events, operations }));
  const { explained = [], others = [] } = Object.groupBy(violations, (each) =>
    isExplained(each) ? 'explained' : 'others',
  );
  return { violations: others, explained };
}

interface Sources {
  readonly events: readonly AnyEvent[];
  readonly operations: readonly Operation[];
}

/**
 * Returns true when a loss may have affected a subject: a request, a key with its target, or a person (`001 0318204`).
 */
function touches(loss: Restarted, subject: string, { events, operations }: Sources): boolean {
  const request = operations.find(({ invoke }) => invoke.op === subject);
  if (request !== undefined) {
    const id = operationOf(request.invoke);
    return isTouched(
      loss,
      operations.filter(({ invoke }) => operationOf(invoke) === id),
    );
  }
  const isOfKey = (event: AnyEvent) =>
    event.actor === 'back-end' && event.event === 'applied' && `${event.key} ${event.target}` === subject;
  if (events.some((event) => isOfKey(event) && isWithin(loss, event.at))) return true;
  const [mis, id] = subject.split(' ');
  const writes = operations.filter(({ invoke }) => invoke.target.endsWith(`/colleges/${mis}/persons/${id}`));
  const byOperation = Map.groupBy(writes, ({ invoke }) => operationOf(invoke));
  return [...byOperation.values()].some((requests) => isTouched(loss, requests));
}

/** Returns true when a loss may have affected an operation. @param requests all requests of the operation */
function isTouched(loss: Restarted, requests: readonly Operation[]): boolean {
  const effects = requests.flatMap(({ received, applied, notified }) => [...received, ...applied, ...notified]);
  if (effects.some(({ at }) => isWithin(loss, at))) return true;
  // If an operation was acknowledged before the newest surviving mark, it was not lost.
  const acknowledged = requests.flatMap(({ ends }) => ends.filter((end) => end.event === 'answer' && end.status < 300));
  if (acknowledged.some(({ at }) => at < loss.from)) return false;
  return requests.some(
    ({ invoke, ends }) => invoke.at <= loss.to && (ends[0]?.at ?? Number.POSITIVE_INFINITY) >= loss.from,
  );
}

const isWithin = ({ from, to }: Restarted, at: number) => at >= from && at <= to;

const restartsOf = (events: readonly AnyEvent[]) =>
  events.filter((event): event is Restarted => event.actor === 'observer' && event.event === 'restarted');
