// The program of the worker process.

import { loadConfig } from '#lib/config/load.ts';
import { createErrorTracker } from '#lib/telemetry/error-tracking/error-tracker.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { createTracer } from '#lib/telemetry/tracing/create-tracer.ts';
import { startWorkers } from './start-workers.ts';

// With CI set, the Conductor SDK writes a line to stdout for every update, which would mix with the JSON log lines.
delete process.env['CI'];

await runProgram('workers', async (log) => {
  const loaded = await loadConfig({ required: ['workers.clientId', 'workers.clientSecret'] });
  const { config } = loaded;
  log.level = config['log.level'];
  loaded.warnings.forEach((warning) => log.warn(warning));
  const errors = await createErrorTracker({
    dsn: config['sentry.dsn'],
    environment: config['sentry.environment'],
    program: 'workers',
  });
  const tracer = await createTracer({ config, program: 'workers', log });
  const reportError = (error: unknown, fields: Record<string, string>) => errors.report(error, fields);
  const workers = await startWorkers({ config, log, reportError, tracer });
  loaded.keepCopies((problem) => log.warn(problem));
  return {
    ready: workers.ready,
    async stop() {
      await workers.stop();
      await Promise.all([errors.close(2_000), tracer?.close(2_000)]);
    },
  };
});
