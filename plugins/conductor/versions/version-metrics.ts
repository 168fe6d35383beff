// Count, errors and latency of each workflow version, and whether a guard has taken it out.

import { Gauge, Histogram, type Registry } from 'prom-client';
import { durationBuckets } from '#lib/telemetry/duration-buckets.ts';
import type { Verdict } from './version-verdict.ts';

/** A version on a route; both come from gateway.config.yml. */
export interface VersionOnRoute {
  readonly route: string;
  readonly version: number;
}

export interface GuardedVersion extends VersionOnRoute {
  /** Whether a guard has taken it out. */
  readonly isOut: boolean;
}

export interface VersionMetrics {
  ended(where: VersionOnRoute, verdict: Verdict, ms: number): void;
}

/** @param guarded asked each time: those of the configuration in force */
export function createVersionMetrics(metrics: Registry, guarded: () => readonly GuardedVersion[]): VersionMetrics {
  const registers = [metrics];
  const seconds = new Histogram({
    name: 'router_version_seconds',
    help: 'Time from the head of a request to the end of its execution, by workflow version and how it ended',
    labelNames: ['route', 'version', 'outcome'],
    buckets: durationBuckets,
    registers,
  });
  new Gauge({
    name: 'router_version_out',
    help: 'Whether the guard has taken a workflow version out: it gets no new traffic',
    labelNames: ['route', 'version'],
    registers,
    collect() {
      this.reset();
      for (const { route, version, isOut } of guarded()) this.set({ route, version }, isOut ? 1 : 0);
    },
  });
  return {
    ended: ({ route, version }, outcome, ms) => seconds.observe({ route, version, outcome }, ms / 1_000),
  };
}
