// Prometheus metrics of workflow versions: outcomes, latency, and whether the guard has removed a version.

import { Histogram, type Registry } from 'prom-client';
import { durationBuckets } from '#lib/telemetry/duration-buckets.ts';
import { observeGauge } from '#lib/telemetry/observed-gauge.ts';
import type { Verdict } from './version-verdict.ts';

/** A version on a route. Version and route come from gateway.config.yml. */
export interface VersionOnRoute {
  readonly route: string;
  readonly version: number;
}

/** Whether a version gets traffic on a route. */
export interface GuardedVersion extends VersionOnRoute {
  /** True when the guard has removed the version. */
  readonly isRemoved: boolean;
}

/** Records outcomes by version. */
export interface VersionMetrics {
  /**
   * Records an execution that has ended.
   * @param ms duration in milliseconds
   */
  ended(where: VersionOnRoute, verdict: Verdict, ms: number): void;
}

/**
 * Registers the metrics.
 * @param guarded returns the versions of the active configuration; called at each scrape
 */
export function createVersionMetrics(metrics: Registry, guarded: () => readonly GuardedVersion[]): VersionMetrics {
  const seconds = new Histogram({
    name: 'router_version_seconds',
    help: 'Time from the head of a request to the end of its execution, by workflow version and outcome: ok, failed (5xx) or not-counted',
    labelNames: ['route', 'version', 'outcome'],
    buckets: durationBuckets,
    registers: [metrics],
  });
  observeGauge(
    metrics,
    {
      name: 'router_version_removed',
      help: '1 when the guard has removed a workflow version, otherwise 0; only on routes with a guard, from their first request',
      labelNames: ['route', 'version'],
    },
    () => guarded().map(({ route, version, isRemoved }) => ({ labels: { route, version }, value: isRemoved ? 1 : 0 })),
  );
  return {
    ended: ({ route, version }, outcome, ms) => seconds.observe({ route, version, outcome }, ms / 1_000),
  };
}
