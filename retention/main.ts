// The program that prunes, once a day by default.

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../config/load.ts';
import { loadGatewayConfig } from '../gateway/load-gateway-config.ts';
import { mappedRoutes, workflowRoutes } from '../gateway/mapped-routes.ts';
import { runProgram, type RunningProgram } from '../program/run-program.ts';
import { startPruneLoop } from './daily.ts';
import { createPruneRound } from './round.ts';

const rootDir = fileURLToPath(new URL('..', import.meta.url));

await runProgram('pruner', async (log) => {
  const { config } = await loadConfig();
  log.level = config['log.level'];
  const intervalMs = config['prune.intervalSeconds'] * 1_000;
  if (intervalMs === 0) return idle();
  const map = resolve(rootDir, config['router.mapFile']);
  const round = createPruneRound(config, workflowRoutes(mappedRoutes(loadGatewayConfig(map, config))));
  const loop = startPruneLoop({ round: (signal) => round.run(signal), intervalMs, log });
  return {
    ready: { intervalSeconds: config['prune.intervalSeconds'] },
    async stop() {
      await loop.stop();
      await round.close();
    },
  };
});

/** Off: it waits to be stopped, so that whoever keeps it running need not know. */
function idle(): RunningProgram {
  const timer = setInterval(() => undefined, 86_400_000);
  return { ready: { pruning: 'off' }, stop: async () => clearInterval(timer) };
}
