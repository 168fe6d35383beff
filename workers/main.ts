// The entry point of the worker process: loads the configuration and starts the workers.

import { gatewayDir } from '#lib/config/folders.ts';
import { loadConfig } from '#lib/config/load.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { startTelemetry } from '#lib/telemetry/program-telemetry.ts';
import { findWorkers } from './gateway-workers.ts';
import { startWorkers } from './start-workers.ts';

// With CI set, the Conductor SDK writes a line to stdout for every update, which would mix with the JSON log lines.
delete process.env['CI'];

await runProgram('workers', async (log) => {
  const loaded = await loadConfig({ required: ['workers.clientId', 'workers.clientSecret'] });
  const { config } = loaded;
  log.level = config['log.level'];
  loaded.warnings.forEach((warning) => log.warn(warning));
  const telemetry = await startTelemetry('workers', config, log);
  const workers = await startWorkers({ config, workers: await findWorkers(gatewayDir()), log, ...telemetry });
  loaded.keepCopies((problem) => log.warn(problem));
  return {
    ready: workers.ready,
    async stop() {
      await workers.stop();
      await telemetry.close();
    },
    drainMs: () => config['workers.drainMs'],
  };
});
