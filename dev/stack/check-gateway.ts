// Checks gateway.config.yml before anything is started: a router that refuses it would only be started again.

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '#lib/config/load.ts';

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @param env what the router will find in its environment
 * @throws GatewayConfigError that lists everything wrong at once
 */
export async function checkGateway(env: NodeJS.ProcessEnv): Promise<void> {
  const { config } = await loadConfig({ env });
  // Loaded here: whoever asks only for help need not wait for the plugins.
  const { loadGateway } = await import('../../gateway/configuration/validate-gateway.ts');
  await loadGateway({ config, rootDir, file: resolve(rootDir, config['router.mapFile']) });
}
