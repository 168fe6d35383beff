// Entry of the worker process.

import { loadConfig } from '../config/load.ts';
import { createErrorTracker } from '../error-tracking/error-tracker.ts';
import { runProgram } from '../program/run-program.ts';
import { startWorkers } from './start-workers.ts';

// With CI set, the Conductor SDK writes a line to stdout for every update, between the log's JSON lines.
delete process.env['CI'];

await runProgram('workers', async (log) => {
  const { config } = await loadConfig({ required: ['workers.clientId', 'workers.clientSecret'] });
  log.level = config['log.level'];
  const errors = await createErrorTracker({
    dsn: config['sentry.dsn'],
    environment: config['sentry.environment'],
    program: 'workers',
  });
  const workers = await startWorkers({ config, log, reportError: (error, fields) => errors.report(error, fields) });
  return {
    ready: workers.ready,
    async stop() {
      await workers.stop();
      await errors.close(2_000);
    },
  };
});
