// A round by the configuration: what the daily program does each time.

import { join } from 'node:path';
import { openEngineDatabase } from '../conductor/database/engine-database.ts';
import { Engine } from '../conductor/engine.ts';
import { ExecutionApi } from '../conductor/executions/execution-api.ts';
import { MetadataApi } from '../conductor/metadata/metadata-api.ts';
import type { Config } from '../config/schema.ts';
import { stepsOf } from '../gateway/gateway-config-schema.ts';
import { loadGatewayConfig } from '../gateway/load-gateway-config.ts';
import { prune, type PruneReport } from './prune.ts';
import { problemsOf, type RouteWorkflow, rulesOf } from './rules.ts';
import { workflowNames } from './workflow-names.ts';

export interface PruneRound {
  /** @throws Error when the engine or its database is away */
  run(signal: AbortSignal): Promise<PruneReport>;
  close(): Promise<void>;
}

/**
 * Reads the map once; each round opens the database anew.
 * @param rootDir directory with gateway.config.yml
 * @throws GatewayConfigError, or an Error when the rules must not be used
 */
export function createPruneRound(config: Config, rootDir: string): PruneRound {
  const routes = routesOf(config, rootDir);
  const problems = problemsOf(rulesOf(config, routes, []), config);
  if (problems.length > 0) throw new Error(problems.join('; '));
  const engine = new Engine({ url: config['conductor.url'], timeoutMs: config['conductor.timeoutMs'], connections: 4 });
  const call = engine.request.bind(engine);
  const [api, metadata] = [new ExecutionApi(call), new MetadataApi(call)];
  return {
    async run(signal) {
      const rules = rulesOf(config, routes, await workflowNames(metadata, routes));
      const url = config['conductor.databaseURL'];
      const database = url === undefined ? null : await openEngineDatabase(url);
      const eventsOlderThanMs = config['prune.eventDays'] * 86_400_000;
      const batchSize = config['prune.batchSize'];
      return prune({ api, rules, database, eventsOlderThanMs, batchSize, signal, now: Date.now() }).finally(() =>
        database?.close(),
      );
    },
    close: () => engine.close(),
  };
}

function routesOf(config: Config, rootDir: string): RouteWorkflow[] {
  const map = loadGatewayConfig(join(rootDir, 'gateway.config.yml'), config);
  return Object.entries(map.pipelines).flatMap(([pipeline, { apiEndpoints }]) => {
    const workflow = stepsOf(map, pipeline).find(({ policy }) => policy === 'workflow')?.action['name'];
    return typeof workflow === 'string' ? apiEndpoints.map((name) => ({ name, workflow })) : [];
  });
}
