// Starts the operations server of the router with health, metrics and the status page.

import type { Registry } from 'prom-client';
import type { Config } from '#lib/config/schema.ts';
import type { RouteKind } from '../plugin-api/gateway-routes.ts';
import { type OperationsServer, startOperationsServer } from './operations-server.ts';
import type { RouterReadiness } from './readiness.ts';
import type { Activity } from './status/activity.ts';
import { createStatus } from './status/status.ts';
import { createStatusRoutes } from './status/status-page.ts';

/** Options of {@link startOperations}. */
export interface OperationsOptions {
  config: Config;
  readiness: RouterReadiness;
  metrics: Registry;
  /** The requests that the status page shows. */
  activity: Activity;
  /** Kind of a route of the active snapshot. */
  kindOf: (route: string) => RouteKind;
}

/** Starts the server at `ops.host` and `ops.port`. @throws Error that names the address when it cannot be bound */
export function startOperations(options: OperationsOptions): Promise<OperationsServer> {
  const { config, readiness, metrics, activity, kindOf } = options;
  const gather = createStatus({ readiness, metrics, activity });
  const pages = createStatusRoutes(gather, { uiURL: config['conductor.uiURL'], kindOf });
  return startOperationsServer({
    host: config['ops.host'],
    port: config['ops.port'],
    hosts: config['ops.hosts'],
    readiness,
    metrics,
    pages,
    keys: 'ops.host, ops.port',
  });
}
