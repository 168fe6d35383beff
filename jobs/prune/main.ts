// The prune program: deletes old executions once a day by default.

import { resolve } from 'node:path';
import { gatewayDir } from '#lib/config/folders.ts';
import { loadConfig } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import { workflowRoutes } from '../../gateway/plugin-api/gateway-routes.ts';
import { type OperationsServer, startOperationsServer } from '../../gateway/operations/operations-server.ts';
import { GatewayConfigError, readGatewayConfig } from '../../gateway/configuration/read-gateway-config.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { type PruneLoop, startPruneLoop } from './prune-loop.ts';
import { createPruneRound } from './round.ts';

const rootDir = gatewayDir();

await runProgram('pruner', async (log) => {
  const loaded = await loadConfig();
  const { config } = loaded;
  log.level = config['log.level'];
  loaded.warnings.forEach((warning) => log.warn(warning));
  const intervalMs = config['prune.intervalSeconds'] * 1_000;
  const pruning = intervalMs === 0 ? disabledLoop() : await startPruning(config, intervalMs, log);
  const health = await startHealth(config, pruning, log);
  loaded.keepCopies((problem) => log.warn(problem));
  return {
    ready: { intervalSeconds: config['prune.intervalSeconds'], ...(health && { healthUrl: health.url }) },
    async stop() {
      await health?.stop();
      await pruning.stop();
    },
  };
});

async function startPruning(config: Config, intervalMs: number, log: Logger): Promise<PruneLoop> {
  const file = resolve(rootDir, config['router.gatewayConfigFile']);
  const { routes, problems } = readGatewayConfig({ file, rootDir, config });
  if (problems.count > 0) throw new GatewayConfigError(problems.lines);
  const round = await createPruneRound(config, workflowRoutes(routes), log);
  const loop = startPruneLoop({ round: (signal) => round.run(signal), intervalMs, log });
  return {
    failure: () => loop.failure(),
    async stop() {
      await loop.stop();
      await round.close();
    },
  };
}

/** Keeps the process alive while pruning is disabled, so that a supervisor does not restart it. */
function disabledLoop(): PruneLoop {
  const timer = setInterval(() => undefined, 86_400_000);
  return { failure: () => undefined, stop: async () => clearInterval(timer) };
}

/**
 * Starts the health endpoint. The program is not ready after a failed round, because the disk fills up without pruning.
 * Returns undefined when no port is configured.
 */
async function startHealth(config: Config, pruning: PruneLoop, log: Logger): Promise<OperationsServer | undefined> {
  const port = config['prune.healthPort'];
  if (port === undefined) return undefined;
  const ask = async () => {
    const failure = pruning.failure();
    return { ready: failure === undefined, reasons: failure === undefined ? {} : { pruner: [failure] }, notices: {} };
  };
  const keys = 'ops.host, prune.healthPort';
  const { 'ops.host': host, 'ops.hosts': hosts } = config;
  return startOperationsServer({ host, port, hosts, readiness: { ask }, keys, log });
}
