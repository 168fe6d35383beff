// Computes figures from the responses to a load: goodput, and how quickly requests were rejected.

import type { Exchange, LoadSample } from './open-loop.ts';
import { percentile } from './figures.ts';

export interface LoadFigures {
  readonly offeredPerSecond: number;
  /** Successful responses per second, without those that arrived after the end of the load. */
  readonly goodput: number;
  readonly served: Latencies;
  /** Number of successful responses by name of the request. */
  readonly servedByName: Readonly<Record<string, number>>;
  /** Responses with status 503 or 429 and a Retry-After field. */
  readonly refused: Latencies;
  /** Number of other responses by status; 0 is a broken connection. */
  readonly others: Readonly<Record<string, number>>;
  readonly unanswered: number;
  /** Longest delay in sending a due request; above a few milliseconds, the sender itself lacked CPU time. */
  readonly senderLatestMs: number;
}

/** Latencies in milliseconds; NaN when there are none. */
export interface Latencies {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export function loadFiguresOf({ exchanges, unanswered, seconds, latestMs }: LoadSample): LoadFigures {
  const isServed = ({ status }: Exchange) => status >= 200 && status < 300;
  const isRefused = ({ status, retryAfter }: Exchange) => (status === 503 || status === 429) && retryAfter;
  const served = exchanges.filter(isServed);
  const inTime = served.filter(({ atMs }) => atMs <= seconds * 1_000);
  const others = exchanges.filter((exchange) => !isServed(exchange) && !isRefused(exchange));
  return {
    offeredPerSecond: (exchanges.length + unanswered) / seconds,
    goodput: inTime.length / seconds,
    served: latenciesOf(served),
    servedByName: countBy(served, ({ name }) => name),
    refused: latenciesOf(exchanges.filter(isRefused)),
    others: countBy(others, ({ status }) => String(status)),
    unanswered,
    senderLatestMs: latestMs,
  };
}

/** @param values in any order */
export function latenciesOf(values: readonly { readonly ms: number }[]): Latencies {
  const ascending = values.map(({ ms }) => ms).sort((a, b) => a - b);
  return {
    count: ascending.length,
    p50: percentile(ascending, 50),
    p99: percentile(ascending, 99),
    max: ascending.at(-1) ?? Number.NaN,
  };
}

function countBy<T>(values: readonly T[], nameOf: (value: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[nameOf(value)] = (counts[nameOf(value)] ?? 0) + 1;
  return counts;
}
