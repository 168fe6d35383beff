// Creates prune rounds from the configuration, for the prune program.

import { openEngineDatabase } from '#lib/conductor/database/engine-database.ts';
import { Engine } from '#lib/conductor/engine.ts';
import type { Config } from '#lib/config/schema.ts';
import { openExecutions } from '#lib/records/open-executions.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { prune, type PruneReport } from './prune.ts';
import type { RouteWorkflow } from '../../gateway/plugin-api/gateway-routes.ts';
import { generalRulesOf, problemsOf, readRules, routeRulesOf } from './rules.ts';

/** Runs prune rounds with the same configuration. */
export interface PruneRound {
  /** Runs one round. @throws Error when the engine or its database is unavailable */
  run(signal: AbortSignal): Promise<PruneReport>;
  /** Closes the connections to the engine and to Redis. */
  close(): Promise<void>;
}

/**
 * Creates a round. Each run opens its own database connection.
 * @throws Error when the rules would delete executions that the reconciler needs
 */
export async function createPruneRound(
  config: Config,
  routes: readonly RouteWorkflow[],
  log: Logger,
): Promise<PruneRound> {
  const configured = [...generalRulesOf(config), ...routeRulesOf(config, routes)];
  const problems = problemsOf(configured, config);
  if (problems.length > 0) throw new Error(problems.join('; '));
  const engine = new Engine({ url: config['conductor.url'], timeoutMs: config['conductor.timeoutMs'], connections: 4 });
  const call = engine.request.bind(engine);
  const executions = await openExecutions(call, config, { log, worksWhenFull: true });
  const { api } = executions;
  return {
    async run(signal) {
      const now = Date.now();
      const rules = await readRules(config, routes, { api, now });
      const url = config['conductor.databaseURL'];
      const database = url === undefined ? null : await openEngineDatabase(url);
      const eventsOlderThanMs = config['prune.eventDays'] * 86_400_000;
      const batchSize = config['prune.batchSize'];
      return prune({ api, rules, database, eventsOlderThanMs, batchSize, signal, now }).finally(() =>
        database?.close(),
      );
    },
    close: async () => void (await Promise.all([executions.close(), engine.close()])),
  };
}
