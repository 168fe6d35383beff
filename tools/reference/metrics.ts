// Generates the tables of metrics from the registry of a router that is started without the servers it depends on.

import { Registry } from 'prom-client';
import { loadConfig } from '#lib/config/load.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { deprecatedMetrics } from '../../gateway/operations/deprecated-metrics.ts';
import { startRouter } from '../../gateway/start-router.ts';
import { code, table } from './markdown.ts';

/** A metric of the router, or of Node.js. */
export interface RouterMetric {
  /** The registered name, without `_bucket`, `_sum` and `_count`. */
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Starts a router and returns its metrics. The engine, the identity provider, Redis and RabbitMQ need not run. */
export async function readRouterMetrics(): Promise<RouterMetric[]> {
  const nowhere = 'http://127.0.0.1:9';
  const urls = { OAUTH_ISSUER: nowhere, CONDUCTOR_URL: nowhere, REDIS_URL: 'redis://127.0.0.1:9' };
  const env = { ROUTER_PORT: '0', OPS_PORT: '0', ...urls, MDM_UPDATEQUEUEURL: 'amqp://127.0.0.1:9' };
  const { config } = await loadConfig({ env });
  const metrics = new Registry();
  const router = await startRouter({ config, log: createLog('reference', 'silent'), metrics });
  try {
    const registered = metrics.getMetricsAsArray() as unknown as (RouterMetric & { labelNames: string[] })[];
    return registered.map(({ name, type, help, labelNames }) => ({
      ...{ name, type, help },
      labels: labelNames.filter((label) => label !== 'le'),
    }));
  } finally {
    await router.stop();
  }
}

/** Returns the generated parts of the page by name. */
export async function formatMetrics(): Promise<Record<string, string>> {
  const rows = (await readRouterMetrics())
    .filter(({ name }) => name.startsWith('router_'))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(', '), help]);
  return {
    metrics: table(['name', 'type', 'labels', 'meaning'], rows),
    'deprecated metrics': table(
      ['deprecated name', 'metric'],
      Object.entries(deprecatedMetrics).map(([name, current]) => [code(name), code(current)]),
    ),
  };
}
