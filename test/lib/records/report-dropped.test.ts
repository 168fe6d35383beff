// Tests of the metric and the warning about dropped records.

import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { ResourceMetrics } from '../../../gateway/snapshots/resource-metrics.ts';
import { createDropReport, registerDropMetric } from '#lib/records/report-dropped.ts';

it('counts dropped records across all reports, and warns at most once an hour for each reason', async () => {
  const metrics = new Registry();
  registerDropMetric(metrics);
  const warnings: string[] = [];
  let now = 0;
  const log = { warn: (message: string) => void warnings.push(message) };
  const report = createDropReport({ metrics, log, clock: () => now });
  for (now of [0, 1, 3_599_999, 3_600_000]) report('limit', 2);
  // The metric outlives the plugins that reloads add and remove.
  for (const resource of [new ResourceMetrics(metrics), new ResourceMetrics(metrics)]) {
    createDropReport({ metrics: resource, log: { warn: () => undefined } })('limit', 1);
    resource.remove();
  }
  expect(await metrics.getSingleMetricAsString('router_records_dropped_total')).toContain('_total 10');
  report('redis', 1);
  const [limit, redis] = [expect.stringContaining('records.max'), expect.stringContaining('Redis did not accept')];
  expect(warnings).toEqual([limit, limit, redis]);
});
