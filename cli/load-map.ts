// gateway.config.yml of a directory, for verbs that only read it.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../config/schema.ts';
import type { GatewayConfig } from '../gateway/gateway-config-schema.ts';
import { GatewayConfigError, loadGatewayConfig } from '../gateway/load-gateway-config.ts';
import { VerbError } from './outcome.ts';
import { rootDir } from './root-dir.ts';

const fileName = 'gateway.config.yml';

/** The map, or undefined when the directory has none. @throws VerbError with everything that is wrong with it */
export function loadMap({ dir }: { readonly dir?: string }, config: Config): GatewayConfig | undefined {
  const file = join(resolve(dir ?? rootDir), fileName);
  if (!existsSync(file)) return undefined;
  try {
    return loadGatewayConfig(file, config);
  } catch (error) {
    if (!(error instanceof GatewayConfigError)) throw error;
    throw new VerbError(error.problems.map((problem) => `${fileName}: ${problem}`));
  }
}
