// Request statistics of the last ten minutes by route, in ten-second buckets: requests, failures and durations.

import type { EndedRequest } from '../../server/access-log.ts';

/** Length of one step, in milliseconds. */
export const stepMs = 10_000;
/** Number of steps. */
export const stepCount = 60;
/** Histogram bins: four per doubling, from 0.1 ms to over a minute. Percentiles are accurate to about 20 %. */
const binCount = 80;
const binsPerDouble = 4;
const shortestMs = 0.1;
/** Most failures that are kept. */
const mostFailures = 20;

/** One step of one route. */
export interface ActivityStep {
  readonly requests: number;
  readonly failures: number;
  /** Milliseconds; undefined without requests. */
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

/** Statistics of one route over the last ten minutes. */
export interface RouteActivity extends ActivityStep {
  readonly route: string;
  /** Average over the last minute of completed steps. */
  readonly requestsPerSecond: number;
  /** Completed steps, oldest first. */
  readonly steps: readonly ActivityStep[];
}

/** A request with a 5xx response. */
export interface Failure extends EndedRequest {
  /** Milliseconds since the epoch. */
  readonly at: number;
}

interface Bucket {
  step: number;
  requests: number;
  failures: number;
  readonly bins: Uint32Array;
}

/** Request statistics and latest failures. Memory is bounded by the number of routes, steps and failures. */
export class Activity {
  readonly #routes = new Map<string, Bucket[]>();
  readonly #failures: Failure[] = [];

  /** Records a completed request. @param now performance.now() */
  record(request: EndedRequest, now = performance.now()): void {
    const { route, status, durationMs } = request;
    const bucket = this.#bucket(route, Math.floor(now / stepMs));
    bucket.requests += 1;
    const bin = binOf(durationMs);
    bucket.bins[bin] = (bucket.bins[bin] as number) + 1;
    if (status < 500) return;
    bucket.failures += 1;
    this.#failures.unshift({ ...request, at: Date.now() });
    if (this.#failures.length > mostFailures) this.#failures.pop();
  }

  /** The latest failures, newest first. */
  get failures(): readonly Failure[] {
    return this.#failures;
  }

  /** Returns the statistics of every route. @param now performance.now() */
  routes(now = performance.now()): RouteActivity[] {
    const current = Math.floor(now / stepMs);
    return [...this.#routes].map(([route, buckets]) => {
      const kept = buckets.filter(({ step }) => step > current - stepCount && step <= current);
      const steps = Array.from({ length: stepCount - 1 }, (_, index) => {
        const step = current - stepCount + 1 + index;
        return summary(kept.filter((bucket) => bucket.step === step));
      });
      const lastMinute = steps.slice(-60_000 / stepMs).reduce((sum, { requests }) => sum + requests, 0);
      return { route, ...summary(kept), requestsPerSecond: lastMinute / 60, steps };
    });
  }

  #bucket(route: string, step: number): Bucket {
    let buckets = this.#routes.get(route);
    if (buckets === undefined) this.#routes.set(route, (buckets = []));
    const index = step % stepCount;
    const bucket = (buckets[index] ??= { step, requests: 0, failures: 0, bins: new Uint32Array(binCount) });
    if (bucket.step === step) return bucket;
    bucket.bins.fill(0);
    return Object.assign(bucket, { step, requests: 0, failures: 0 });
  }
}

function binOf(ms: number): number {
  const bin = Math.floor(Math.log2(Math.max(ms, shortestMs) / shortestMs) * binsPerDouble);
  return Math.min(bin, binCount - 1);
}

/** Returns the (geometric) middle of a bin, in milliseconds. */
function msOf(bin: number): number {
  return shortestMs * 2 ** ((bin + 0.5) / binsPerDouble);
}

function summary(buckets: readonly Bucket[]): ActivityStep {
  const requests = buckets.reduce((sum, bucket) => sum + bucket.requests, 0);
  const failures = buckets.reduce((sum, bucket) => sum + bucket.failures, 0);
  return { requests, failures, p50: percentile(buckets, requests * 0.5), p99: percentile(buckets, requests * 0.99) };
}

function percentile(buckets: readonly Bucket[], rank: number): number | undefined {
  if (rank === 0) return undefined;
  let seen = 0;
  for (let bin = 0; bin < binCount; bin++) {
    for (const { bins } of buckets) seen += bins[bin] as number;
    if (seen >= rank) return msOf(bin);
  }
  return msOf(binCount - 1);
}
