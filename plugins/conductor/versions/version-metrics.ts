// Count, errors and latency of each workflow version, and whether a guard has taken it out.

import { Gauge, Histogram, type Registry } from 'prom-client';
import { durationBuckets } from '../../../gateway/access-log.ts';
import type { Verdict } from './version-verdict.ts';

/** A version on a route; both come from gateway.config.yml. */
export interface VersionOnRoute {
  readonly route: string;
  readonly version: number;
}

export interface VersionMetrics {
  ended(where: VersionOnRoute, verdict: Verdict, ms: number): void;
  /** Whether a guard has taken it out. */
  isOut(where: VersionOnRoute, isOut: boolean): void;
}

export function createVersionMetrics(metrics: Registry): VersionMetrics {
  const registers = [metrics];
  const seconds = new Histogram({
    name: 'router_version_seconds',
    help: 'Time from the head of a request to the end of its execution, by workflow version and how it ended',
    labelNames: ['route', 'version', 'outcome'],
    buckets: durationBuckets,
    registers,
  });
  const out = new Gauge({
    name: 'router_version_out',
    help: 'Whether the guard has taken a workflow version out: it gets no new traffic',
    labelNames: ['route', 'version'],
    registers,
  });
  return {
    ended: ({ route, version }, outcome, ms) => seconds.observe({ route, version, outcome }, ms / 1_000),
    isOut: ({ route, version }, isOut) => out.set({ route, version }, isOut ? 1 : 0),
  };
}
