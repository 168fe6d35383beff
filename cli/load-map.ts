// gateway.config.yml of a directory, for verbs that only read it.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../config/schema.ts';
import { readPinnedVersions } from '../conductor/definitions/pinned-versions.ts';
import { type GatewayConfig, type PipelineStep, stepsOf } from '../gateway/gateway-config-schema.ts';
import { GatewayConfigError, loadGatewayConfig } from '../gateway/load-gateway-config.ts';
import { VerbError } from './outcome.ts';
import { rootDir } from './root-dir.ts';

const fileName = 'gateway.config.yml';

/** The map, or undefined when the directory has none. @throws VerbError with everything that is wrong with it */
export function loadMap({ dir }: { readonly dir?: string }, config: Config): GatewayConfig | undefined {
  const file = join(resolve(dir ?? rootDir), fileName);
  if (!existsSync(file)) return undefined;
  let map: GatewayConfig;
  try {
    map = loadGatewayConfig(file, config);
  } catch (error) {
    if (!(error instanceof GatewayConfigError)) throw error;
    throw new VerbError(error.problems.map((problem) => `${fileName}: ${problem}`));
  }
  const problems = Object.keys(map.pipelines).flatMap((pipeline) => stepsOf(map, pipeline).flatMap(versionProblems));
  if (problems.length > 0) throw new VerbError(problems);
  return map;
}

function versionProblems({ policy, action, path }: PipelineStep): string[] {
  if (policy !== 'workflow') return [];
  return readPinnedVersions(action).problems.map((problem) => `${fileName}: ${path}.action: ${problem}`);
}
