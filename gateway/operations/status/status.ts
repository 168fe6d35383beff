// What the status page shows, gathered: readiness, numbers of the metrics, routes and failures of this router.

import type { Registry } from 'prom-client';
import type { Readiness, RouterReadiness } from '../readiness.ts';
import type { Activity, Failure, RouteActivity } from './activity.ts';

/** A number of the metrics with its label. */
export interface Reading {
  /** Value of the label; empty for a metric without one. */
  readonly name: string;
  readonly value: number;
}

export interface Status {
  readonly readiness: Readiness;
  readonly upSeconds: number;
  readonly inFlight: number;
  readonly waits: number;
  readonly parkedPolls: number;
  readonly queued: number;
  /** Calls to the engine that failed since the start. */
  readonly engineErrors: number;
  readonly unreconciled: number;
  /** Of the engine and of every back end: 0 closed, 1 half-open, 2 open. */
  readonly breakers: readonly Reading[];
  /** By task type, seconds since a worker last asked for it here. */
  readonly workers: readonly Reading[];
  readonly routes: readonly RouteActivity[];
  readonly failures: readonly Failure[];
}

export interface StatusSources {
  readonly readiness: RouterReadiness;
  readonly metrics: Registry;
  readonly activity: Activity;
}

/** Readiness asks the engine: however many pages are open, it is asked once in this time (milliseconds). */
const readinessMs = 5_000;

/** Makes the function that gathers it. */
export function createStatus({ readiness, metrics, activity }: StatusSources): () => Promise<Status> {
  let asked: { found: Promise<Readiness>; until: number } | undefined;
  const askReadiness = () => {
    const now = performance.now();
    if (asked === undefined || asked.until < now) asked = { found: readiness.ask(), until: now + readinessMs };
    return asked.found;
  };
  const read = async (metric: string, label = ''): Promise<Reading[]> => {
    const found = await metrics.getSingleMetric(metric)?.get();
    return (found?.values ?? []).map(({ labels, value }) => ({
      name: String((labels as Record<string, unknown>)[label] ?? ''),
      value: Number(value),
    }));
  };
  const sum = async (metric: string) => (await read(metric)).reduce((total, { value }) => total + value, 0);
  return async () => {
    const [ready, breakers, workers] = await Promise.all([
      askReadiness(),
      read('router_breaker_state', 'breaker'),
      read('router_worker_last_poll_seconds', 'task_type'),
    ]);
    return {
      readiness: ready,
      upSeconds: process.uptime(),
      inFlight: await sum('router_http_requests_in_flight'),
      waits: await sum('router_waits'),
      parkedPolls: await sum('router_parked_polls'),
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
