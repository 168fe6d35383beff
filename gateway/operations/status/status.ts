// Collects the values of the status page: readiness, metrics, route activity and failures of this router.

import type { Registry } from 'prom-client';
import type { Readiness, RouterReadiness } from '../readiness.ts';
import type { Activity, Failure, RouteActivity } from './activity.ts';

/** A metric value with some of its labels. */
export interface Reading {
  /** The non-empty label values, separated by spaces. */
  readonly name: string;
  readonly value: number;
}

/** The values of the status page. */
export interface Status {
  readonly readiness: Readiness;
  readonly upSeconds: number;
  readonly inFlight: number;
  readonly waitingClients: number;
  readonly heldPolls: number;
  readonly queued: number;
  /** Failed calls to the engine since the router started. */
  readonly engineErrors: number;
  readonly unreconciled: number;
  /** Circuit breakers of the engine and of the back ends: 0 closed, 1 half-open, 2 open. */
  readonly breakers: readonly Reading[];
  /** Seconds since the last poll on this router, by task type and domain. */
  readonly workers: readonly Reading[];
  readonly routes: readonly RouteActivity[];
  readonly failures: readonly Failure[];
}

/** Sources of the status values. */
export interface StatusSources {
  readonly readiness: RouterReadiness;
  readonly metrics: Registry;
  readonly activity: Activity;
}

/** How long readiness is cached, in milliseconds: the checks call the engine, and many pages may be open. */
const readinessMs = 5_000;

/** Returns a function that collects the current values. */
export function createStatus({ readiness, metrics, activity }: StatusSources): () => Promise<Status> {
  let cached: { found: Promise<Readiness>; until: number } | undefined;
  const cachedReadiness = () => {
    const now = performance.now();
    if (cached === undefined || cached.until < now) cached = { found: readiness.ask(), until: now + readinessMs };
    return cached.found;
  };
  const read = async (metric: string, ...names: string[]): Promise<Reading[]> => {
    const found = await metrics.getSingleMetric(metric)?.get();
    return (found?.values ?? []).map(({ labels, value }) => {
      const values = names.map((name) => (labels as Record<string, unknown>)[name] ?? '');
      return { name: values.filter((each) => each !== '').join(' '), value: Number(value) };
    });
  };
  const sum = async (metric: string) => (await read(metric)).reduce((total, { value }) => total + value, 0);
  return async () => {
    const [ready, breakers, workers] = await Promise.all([
      cachedReadiness(),
      read('router_breaker_state', 'breaker'),
      read('router_worker_last_poll_seconds', 'task_type', 'domain'),
    ]);
    return {
      readiness: ready,
      upSeconds: process.uptime(),
      inFlight: await sum('router_http_requests_in_flight'),
      waitingClients: await sum('router_completion_waiters'),
      heldPolls: await sum('router_held_polls'),
      queued: await sum('router_admission_queued'),
      engineErrors: await sum('router_engine_errors_total'),
      unreconciled: await sum('router_events_unreconciled'),
      breakers,
      workers,
      routes: activity.routes(),
      failures: activity.failures,
    };
  };
}
