// Records request statistics by route for the last ten minutes, in ten-second steps, and the kinds of failures since
// the router started.

import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { BoundedMap } from '#lib/gc/bounded.ts';
import type { EndedRequest } from '../../server/access-log.ts';

/** Length of one step, in milliseconds. */
export const stepMs = 10_000;
/** Number of steps that are kept. */
const stepCount = 60;
/**
 * Durations are recorded in tenths of a millisecond, up to two minutes, with a precision of about 10 %. Memory use is 7
 * KB per step.
 */
const unitsPerMs = 10;
const histogram = { lowest: 1, highest: 120_000 * unitsPerMs, figures: 1 };
/** Maximum number of kinds of failures that are kept. */
const maxFailures = 20;

/** Request statistics of one step or of several. */
export interface ActivityStep {
  readonly requests: number;
  readonly failures: number;
  /** Percentiles of the durations, in milliseconds; undefined if there were no requests. */
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

/** Statistics of one route over the last ten minutes. */
export interface RouteActivity extends ActivityStep {
  readonly route: string;
  /** Average over the completed steps of the last minute. */
  readonly requestsPerSecond: number;
}

/** Requests with the same 5xx response on one route, since the start of the router. */
export interface Failure extends Pick<EndedRequest, 'route' | 'method' | 'status' | 'problem'> {
  readonly count: number;
  /** Milliseconds since the epoch. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Execution id of the latest of these requests that started an execution. */
  readonly executionId: string | undefined;
}

interface Bucket {
  step: number;
  failures: number;
  readonly durations: RecordableHistogram;
}

/** Request statistics and failures. Memory use is bounded by the number of routes, steps and kinds of failures. */
export class Activity {
  readonly #routes = new Map<string, Bucket[]>();
  readonly #failures = new BoundedMap<string, Failure>(maxFailures);
  #latestExecution: string | undefined;

  /** Records a completed request. @param now performance.now() */
  record(request: EndedRequest, now = performance.now()): void {
    const { route, status, durationMs, executionId } = request;
    this.#latestExecution = executionId ?? this.#latestExecution;
    const bucket = this.#bucket(route, Math.floor(now / stepMs));
    bucket.durations.record(Math.min(Math.max(1, Math.round(durationMs * unitsPerMs)), histogram.highest));
    if (status < 500) return;
    bucket.failures += 1;
    this.#recordFailure(request);
  }

  /** Execution id of the latest request that started an execution. */
  get latestExecution(): string | undefined {
    return this.#latestExecution;
  }

  /** The kinds of failures; the kind with the most recent request comes first. */
  get failures(): readonly Failure[] {
    return [...this.#failures].map(([, failure]) => failure).reverse();
  }

  /** Returns the statistics of every route. @param now performance.now() */
  routes(now = performance.now()): RouteActivity[] {
    const last = Math.floor(now / stepMs);
    return [...this.#routes].map(([route, buckets]) => {
      const kept = buckets.filter(({ step }) => step > last - stepCount && step <= last);
      const lastMinute = kept.filter(({ step }) => step < last && step >= last - 60_000 / stepMs);
      return { route, ...summary(kept), requestsPerSecond: requestsOf(lastMinute) / 60 };
    });
  }

  /** Returns the completed steps, oldest first, each combined over all counted routes. @param now performance.now() */
  steps(isCounted: (route: string) => boolean, now = performance.now()): ActivityStep[] {
    const first = Math.floor(now / stepMs) - stepCount + 1;
    const buckets = [...this.#routes].flatMap(([route, kept]) => (isCounted(route) ? kept : []));
    return Array.from({ length: stepCount - 1 }, (_, index) =>
      summary(buckets.filter(({ step }) => step === first + index)),
    );
  }

  #recordFailure({ route, method, status, problem, executionId }: EndedRequest): void {
    const key = JSON.stringify([route, method, status, problem]);
    const now = Date.now();
    const known = this.#failures.get(key);
    // Kinds are kept in the order of their latest request.
    this.#failures.delete(key);
    this.#failures.set(key, {
      ...{ route, method, status, problem, lastAt: now },
      count: (known?.count ?? 0) + 1,
      firstAt: known?.firstAt ?? now,
      executionId: executionId ?? known?.executionId,
    });
  }

  #bucket(route: string, step: number): Bucket {
    let buckets = this.#routes.get(route);
    if (buckets === undefined) this.#routes.set(route, (buckets = []));
    const index = step % stepCount;
    const bucket = (buckets[index] ??= { step, failures: 0, durations: createHistogram(histogram) });
    if (bucket.step === step) return bucket;
    bucket.durations.reset();
    return Object.assign(bucket, { step, failures: 0 });
  }
}

function requestsOf(buckets: readonly Bucket[]): number {
  return buckets.reduce((sum, { durations }) => sum + durations.count, 0);
}

function summary(buckets: readonly Bucket[]): ActivityStep {
  const [first, ...others] = buckets;
  if (first === undefined) return { requests: 0, failures: 0, p50: undefined, p99: undefined };
  const durations = others.length === 0 ? first.durations : createHistogram(histogram);
  if (others.length > 0) for (const bucket of buckets) durations.add(bucket.durations);
  return {
    requests: requestsOf(buckets),
    failures: buckets.reduce((sum, bucket) => sum + bucket.failures, 0),
    p50: durations.percentile(50) / unitsPerMs,
    p99: durations.percentile(99) / unitsPerMs,
  };
}
