// Computes figures from the responses to a load: goodput, and how quickly the other requests were rejected.

import type { Exchange, LoadSample } from './open-loop.ts';
import { percentile } from './figures.ts';

export interface LoadFigures {
  readonly offeredPerSecond: number;
  /** Successful responses per second, within the time of the load. */
  readonly goodput: number;
  /** Successful responses in each second of the load. */
  readonly goodputBySecond: readonly number[];
  readonly served: Latencies;
  /** Number of successful responses by name of the request. */
  readonly servedByName: Readonly<Record<string, number>>;
  /** Responses with status 503 or 429 and a Retry-After field. */
  readonly refused: Latencies;
  /** The 99th percentile of the rejections in each second; NaN for a second without rejections. */
  readonly refusedP99BySecond: readonly number[];
  /** Number of other responses by status; 0 is a broken connection. */
  readonly others: Readonly<Record<string, number>>;
  readonly unanswered: number;
  /** Longest delay with which a request was sent; above a few milliseconds, the sender itself lacked CPU time. */
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
  const goodputBySecond = Array.from({ length: Math.floor(seconds) }, () => 0);
  for (const { atMs } of inTime) {
    const second = Math.floor(atMs / 1_000);
    if (second in goodputBySecond) goodputBySecond[second] = (goodputBySecond[second] as number) + 1;
  }
  const others = exchanges.filter((exchange) => !isServed(exchange) && !isRefused(exchange));
  return {
    offeredPerSecond: (exchanges.length + unanswered) / seconds,
    goodput: inTime.length / seconds,
    goodputBySecond,
    served: latenciesOf(served),
    servedByName: countBy(served, ({ name }) => name),
    refused: latenciesOf(exchanges.filter(isRefused)),
    refusedP99BySecond: bySecond(exchanges.filter(isRefused), seconds).map((each) => latenciesOf(each).p99),
    others: countBy(others, ({ status }) => String(status)),
    unanswered,
    senderLatestMs: latestMs,
  };
}

function bySecond(exchanges: readonly Exchange[], seconds: number): Exchange[][] {
  const groups = Array.from({ length: Math.floor(seconds) }, (): Exchange[] => []);
  for (const exchange of exchanges) groups[Math.floor(exchange.atMs / 1_000)]?.push(exchange);
  return groups;
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
