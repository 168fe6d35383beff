// The router program.

import { loadConfig } from '../config/load.ts';
import { accepts } from '../config/production.ts';
import type { Config } from '../config/schema.ts';
import { createErrorTracker } from '../error-tracking/error-tracker.ts';
import { runProgram } from '../program/run-program.ts';
import { createTracer } from '../tracing/create-tracer.ts';
import { findOpenEngine } from './open-engine.ts';
import { startRouter } from './start-router.ts';

/** Every layer, checked as a whole. @throws ConfigError */
async function load(): Promise<Config> {
  const { config } = await loadConfig({
    required: ['oauth.issuer'],
    checkProduction: async (found) => {
      const urls = accepts(found, 'open-engine') ? [] : (found['conductor.url'] ?? []);
      return (await Promise.all(urls.map((url) => findOpenEngine({ url })))).flat();
    },
  });
  return config;
}

await runProgram('router', async (log) => {
  const config = await load();
  log.level = config['log.level'];
  const errors = await createErrorTracker({
    dsn: config['sentry.dsn'],
    environment: config['sentry.environment'],
    program: 'router',
  });
  const tracer = await createTracer({ config, program: 'router', log });
  const reportError = (error: unknown, fields: Record<string, string>) => errors.report(error, fields);
  const router = await startRouter({ config, log, reportError, tracer, loadConfig: load });
  return {
    ready: { url: router.url, operationsUrl: router.operationsUrl },
    reload: (reason) => router.reload(reason),
    async stop() {
      await router.stop();
      await Promise.all([errors.close(2_000), tracer?.close(2_000)]);
    },
  };
});
