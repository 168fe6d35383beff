// The program that prunes, once a day by default.

import { fileURLToPath } from 'node:url';
import { loadConfig } from '../config/load.ts';
import { runProgram } from '../program/run-program.ts';
import { startPruneLoop } from './daily.ts';
import { createPruneRound } from './round.ts';

const rootDir = fileURLToPath(new URL('..', import.meta.url));

await runProgram('pruner', async (log) => {
  const { config } = await loadConfig();
  log.level = config['log.level'];
  const intervalMs = config['prune.intervalSeconds'] * 1_000;
  // Off: it waits to be stopped, so that whoever keeps it running need not know.
  if (intervalMs === 0) return { ready: { pruning: 'off' }, stop: async () => undefined };
  const round = createPruneRound(config, rootDir);
  const loop = startPruneLoop({ round: (signal) => round.run(signal), intervalMs, log });
  return {
    ready: { intervalSeconds: config['prune.intervalSeconds'] },
    async stop() {
      await loop.stop();
      await round.close();
    },
  };
});
