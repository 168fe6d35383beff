// Reports records that were dropped because of `records.max`, with a metric and a warning.

import { Counter, type Registry } from 'prom-client';
import type { Logger } from '#lib/telemetry/logging/log.ts';

/** Dependencies of {@link createDropReport}. */
export interface DropReportOptions {
  /** Absent in a program without metrics, which only warns. */
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
 * Registers the metric, which all reports of one registry share.
 * @returns a function to call for each dropped record; it logs at most one warning an hour
 */
export function createDropReport({ metrics, log, clock = () => performance.now() }: DropReportOptions): () => void {
  const known = metrics?.getSingleMetric(name) as Counter | undefined;
  const dropped = known ?? new Counter({ name, help, registers: metrics === undefined ? [] : [metrics] });
  let warnAgainAt = Number.NEGATIVE_INFINITY;
  return () => {
    dropped.inc();
    if (clock() < warnAgainAt) return;
    warnAgainAt = clock() + warnEveryMs;
    log.warn(
      'more than records.max executions are recorded: the oldest records are dropped, so their executions are never pruned and their Idempotency-Keys are forgotten',
    );
  };
}
