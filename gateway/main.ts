// The entry point of the router process: loads the configuration, starts the router, and handles reload and stop.

import { loadConfig, type LoadedConfig } from '#lib/config/load.ts';
import { accepts } from '#lib/config/production.ts';
import { createErrorTracker } from '#lib/telemetry/error-tracking/error-tracker.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { createTracer } from '#lib/telemetry/tracing/create-tracer.ts';
import { findOpenEngine } from './open-engine.ts';
import { startRouter } from './start-router.ts';

/** Loads and validates all configuration layers. @throws ConfigError */
function load(): Promise<LoadedConfig> {
  return loadConfig({
    required: ['oauth.issuer'],
    checkProduction: async (found) => {
      const urls = accepts(found, 'open-engine') ? [] : (found['conductor.url'] ?? []);
      return (await Promise.all(urls.map((url) => findOpenEngine({ url })))).flat();
    },
  });
}

await runProgram('router', async (log) => {
  const loaded = await load();
  const { config } = loaded;
  log.level = config['log.level'];
  loaded.warnings.forEach((warning) => log.warn(warning));
  const errors = await createErrorTracker({
    dsn: config['sentry.dsn'],
    environment: config['sentry.environment'],
    program: 'router',
  });
  const tracer = await createTracer({ config, program: 'router', log });
  const reportError = (error: unknown, fields: Record<string, string>) => errors.report(error, fields);
  const router = await startRouter({ config, log, reportError, tracer, loadConfig: load });
  loaded.keepCopies((problem) => log.warn(problem));
  return {
    ready: { url: router.url, operationsUrl: router.operationsUrl },
    reload: (reason) => router.reload(reason),
    async stop() {
      await router.stop();
      await Promise.all([errors.close(2_000), tracer?.close(2_000)]);
    },
  };
});
