// Starts the operations server of the router: health checks, metrics and the pages for operators.

import type { Registry } from 'prom-client';
import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { Config } from '#lib/config/schema.ts';
import type { RouteKind } from '../plugin-api/gateway-routes.ts';
import { createEngineReaders } from './executions/engine-reader.ts';
import { createExecutionRoutes } from './executions/execution-page.ts';
import { createListRoutes } from './executions/list-page.ts';
import type { Suggestions } from './executions/list-view.ts';
import { type OperationsServer, startOperationsServer } from './operations-server.ts';
import { createAssetRoutes } from './pages/assets.ts';
import type { RouterReadiness } from './readiness.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import type { Activity } from './status/activity.ts';
import { createStatus } from './status/status.ts';
import { createStatusRoutes } from './status/status-page.ts';

/** Options of {@link startOperations}. */
export interface OperationsOptions {
  config: Config;
  log: Pick<Logger, 'error'>;
  readiness: RouterReadiness;
  metrics: Registry;
  /** The requests that the overview shows. */
  activity: Activity;
  /** Returns the kind of a route of the active snapshot. */
  kindOf: (route: string) => RouteKind;
  /** Returns the routes of the active snapshot that start executions. */
  executionRoutes: () => readonly string[];
  /** Returns the definitions of the active snapshot. */
  definitions: () => Definitions;
}

/** Starts the server at `ops.host` and `ops.port`. @throws Error that names the address, if it cannot be bound */
export async function startOperations(options: OperationsOptions): Promise<OperationsServer> {
  const { config, log, readiness, metrics, activity, kindOf, executionRoutes, definitions } = options;
  const readers = createEngineReaders(config);
  const suggestions = (): Suggestions => ({
    routes: executionRoutes(),
    workflows: [...new Set(definitions().workflows.map(({ definition }) => definition.name))],
  });
  const handlers = () => definitions().eventHandlers.map(({ definition }) => definition);
  const server = await startOperationsServer({
    host: config['ops.host'],
    port: config['ops.port'],
    hosts: config['ops.hosts'],
    readiness,
    metrics,
    pages: {
      ...createStatusRoutes({
        gather: createStatus({ readiness, metrics, activity }),
        activity,
        kindOf,
        executionRoutes,
      }),
      ...createListRoutes({ readers, suggestions, latestExecution: () => activity.latestExecution }),
      ...createExecutionRoutes({ readers, handlers, uiURL: config['conductor.uiURL'] }),
      ...createAssetRoutes(),
    },
    keys: 'ops.host, ops.port',
    log,
  });
  return {
    url: server.url,
    async stop() {
      await server.stop();
      await readers.close();
    },
  };
}
