// Validates gateway.config.yml before the stack starts, since a router that refuses it would be restarted in a loop.

import { resolve } from 'node:path';
import { gatewayDir } from '#lib/config/folders.ts';
import { loadConfig } from '#lib/config/load.ts';

/**
 * Validates the gateway configuration.
 * @param env environment of the router
 * @throws GatewayConfigError that lists every problem
 */
export async function checkGateway(env: NodeJS.ProcessEnv): Promise<void> {
  const rootDir = gatewayDir();
  const { config } = await loadConfig({ env });
  // Imported here, so that `--help` does not load the plugins.
  const { loadGateway } = await import('../../gateway/configuration/validate-gateway.ts');
  await loadGateway({ config, rootDir, file: resolve(rootDir, config['router.gatewayConfigFile']) });
}
