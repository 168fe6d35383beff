// Reports dropped execution records with a metric and a warning.

import { Counter, type Registry } from 'prom-client';
import type { Logger } from '#lib/telemetry/logging/log.ts';

/** Dependencies of {@link createDropReport}. */
export interface DropReportOptions {
  /**
   * Registry in which {@link registerDropMetric} has registered the metric; absent in a program that only logs
   * warnings.
   */
  readonly metrics?: Registry;
  readonly log: Pick<Logger, 'warn'>;
  /** Monotonic clock in milliseconds. Default: performance.now. */
  readonly clock?: () => number;
}

/** Why records were dropped: because of `records.max`, or because Redis did not accept them. */
export type DropReason = 'limit' | 'redis';
/** Function to call with the number of dropped records and the reason. */
export type ReportDropped = (reason: DropReason, count: number) => void;

const name = 'router_records_dropped_total';
const help =
  'Records of executions dropped because there were more than records.max, or because Redis did not accept them: these executions may never be pruned';
const warnEveryMs = 3_600_000;
const warnings: Readonly<Record<DropReason, string>> = {
  limit:
    'more than records.max executions are recorded: the oldest records are dropped, so their executions are never pruned and their Idempotency-Keys are forgotten',
  redis:
    'Redis did not accept the records of some executions in time: unless a later search finds these executions running, they are never pruned and their Idempotency-Keys are forgotten',
};

/**
 * Registers the metric that all drop reports of a program share. Call it once, with the registry of the program:
 * metrics in a plugin's registry are removed with the plugin.
 */
export function registerDropMetric(metrics: Registry): void {
  metrics.registerMetric(new Counter({ name, help, registers: [] }));
}

/** @returns a function that reports dropped records; it logs at most one warning an hour for each reason */
export function createDropReport({ metrics, log, clock = () => performance.now() }: DropReportOptions): ReportDropped {
  const dropped = metrics?.getSingleMetric(name) as Counter | undefined;
  const warnAgainAt: Record<DropReason, number> = { limit: 0, redis: 0 };
  return (reason, count) => {
    dropped?.inc(count);
    if (clock() < warnAgainAt[reason]) return;
    warnAgainAt[reason] = clock() + warnEveryMs;
    log.warn(warnings[reason]);
  };
}
