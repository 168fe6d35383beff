// Reports records that were dropped because of `records.max`, with a metric and a warning.

import { Counter, type Registry } from 'prom-client';
import type { Logger } from '#lib/telemetry/logging/log.ts';

/** Dependencies of {@link createDropReport}. */
export interface DropReportOptions {
  /** Where {@link registerDropMetric} has registered the metric; absent in a program without it, which only warns. */
  readonly metrics?: Registry;
  readonly log: Pick<Logger, 'warn'>;
  /** Monotonic clock in milliseconds. Default: performance.now. */
  readonly clock?: () => number;
}

const name = 'router_records_dropped_total';
const help =
  'Records of executions dropped because there were more than records.max: these executions are never pruned';
const warnEveryMs = 3_600_000;

/**
 * Registers the metric, which all reports of a program share. Call it once, with the registry of the program: metrics
 * in a plugin's registry are removed with the plugin.
 */
export function registerDropMetric(metrics: Registry): void {
  metrics.registerMetric(new Counter({ name, help, registers: [] }));
}

/** @returns a function to call for each dropped record; it logs at most one warning an hour */
export function createDropReport({ metrics, log, clock = () => performance.now() }: DropReportOptions): () => void {
  const dropped = metrics?.getSingleMetric(name) as Counter | undefined;
  let warnAgainAt = Number.NEGATIVE_INFINITY;
  return () => {
    dropped?.inc();
    if (clock() < warnAgainAt) return;
    warnAgainAt = clock() + warnEveryMs;
    log.warn(
      'more than records.max executions are recorded: the oldest records are dropped, so their executions are never pruned and their Idempotency-Keys are forgotten',
    );
  };
}
