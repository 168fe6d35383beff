// Every metric that a router has, with its labels: read from the registry of a router that was started here.

import { Registry } from 'prom-client';
import { loadConfig } from '#lib/config/load.ts';
import { startRouter } from '../../gateway/start-router.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';

export interface RouterMetric {
  /** As it is registered: without `_bucket`, `_sum` and `_count`. */
  readonly name: string;
  readonly isHistogram: boolean;
  readonly labels: readonly string[];
}

/** Neither engine, identity provider nor Redis need be there. */
export async function readRouterMetrics(): Promise<RouterMetric[]> {
  const nowhere = 'http://127.0.0.1:9';
  const urls = { OAUTH_ISSUER: nowhere, CONDUCTOR_URL: nowhere, REDIS_URL: 'redis://127.0.0.1:9' };
  const env = { ROUTER_PORT: '0', OPS_PORT: '0', ...urls };
  const { config } = await loadConfig({ env });
  const metrics = new Registry();
  const router = await startRouter({ config, log: createLog('test', 'silent'), metrics });
  try {
    const found = metrics.getMetricsAsArray() as unknown as { name: string; labelNames: string[]; buckets?: unknown }[];
    return found.map(({ name, labelNames, buckets }) => ({
      name,
      isHistogram: buckets !== undefined,
      labels: labelNames.filter((label) => label !== 'le'),
    }));
  } finally {
    await router.stop();
  }
}

/** The labels of every series by its name, as Prometheus stores them. */
export function seriesOf(metrics: readonly RouterMetric[]): Map<string, ReadonlySet<string>> {
  return new Map(
    metrics.flatMap(({ name, isHistogram, labels }) =>
      isHistogram
        ? [
            [`${name}_bucket`, new Set([...labels, 'le'])] as const,
            [`${name}_sum`, new Set(labels)] as const,
            [`${name}_count`, new Set(labels)] as const,
          ]
        : [[name, new Set(labels)] as const],
    ),
  );
}
