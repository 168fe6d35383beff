// Everything behind the operations port, put together: health, metrics, the status page.

import type { Registry } from 'prom-client';
import type { Config } from '#lib/config/schema.ts';
import type { RouteKind } from '../plugin-api/gateway-routes.ts';
import { type OperationsServer, startOperationsServer } from './operations-server.ts';
import type { RouterReadiness } from './readiness.ts';
import type { Activity } from './status/activity.ts';
import { createStatus } from './status/status.ts';
import { createStatusRoutes } from './status/status-page.ts';

export interface OperationsOptions {
  config: Config;
  readiness: RouterReadiness;
  metrics: Registry;
  /** The requests that the status page shows. */
  activity: Activity;
  /** Whom a route of the active configuration serves. */
  kindOf: (route: string) => RouteKind;
}

/** @throws Error that names address and port when they cannot be bound */
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
