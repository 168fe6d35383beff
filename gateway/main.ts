// The entry point of the router process: loads the configuration, starts the router, and handles reloads and shutdown.

import { loadConfig, type LoadedConfig, type LoadOptions, localFilesOf } from '#lib/config/load.ts';
import { accepts } from '#lib/config/production.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { startTelemetry } from '#lib/telemetry/program-telemetry.ts';
import { findOpenEngine } from './open-engine.ts';
import { digestsOf } from '#lib/process/watch-files.ts';
import { startRouter } from './start-router.ts';

/** Loads and validates all configuration layers. @throws ConfigError */
function load(options: LoadOptions = {}): Promise<LoadedConfig> {
  return loadConfig({
    ...options,
    required: ['oauth.issuer'],
    checkProduction: async (found) => {
      const urls = accepts(found, 'open-engine') ? [] : (found['conductor.url'] ?? []);
      return (await Promise.all(urls.map((url) => findOpenEngine({ url })))).flat();
    },
  });
}

await runProgram('router', async (log) => {
  const localFiles = await digestsOf(localFilesOf());
  const loaded = await load();
  const { config } = loaded;
  log.level = config['log.level'];
  loaded.warnings.forEach((warning) => log.warn(warning));
  const telemetry = await startTelemetry('router', config, log);
  const reloadConfig = (signal: AbortSignal) => load({ useCopies: false, signal });
  const router = await startRouter({ config, log, ...telemetry, loadConfig: reloadConfig, localFiles });
  loaded.keepCopies((problem) => log.warn(problem));
  return {
    ready: { url: router.url, operationsUrl: router.operationsUrl },
    reload: (reason) => router.reload(reason),
    async stop() {
      await router.stop();
      await telemetry.close();
    },
    drainMs: () => router.drainMs(),
  };
});
