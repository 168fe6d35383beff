// gateway.config.yml without a router: what is wrong with it, and its routes as the time-out ladder needs them.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { operationsBelow, readBackEndDescription } from '../contract/back-end-description.ts';
import { templateOf } from '../contract/templates.ts';
import { readPinnedVersions } from '../conductor/definitions/pinned-versions.ts';
import type { Route } from '../conductor/definitions/time-outs.ts';
import { describedEndpoint } from '../gateway/described-endpoint.ts';
import { type GatewayConfig, stepsOf } from '../gateway/gateway-config-schema.ts';
import { GatewayConfigError, loadGatewayConfig } from '../gateway/load-gateway-config.ts';
import { rootDir } from './root-dir.ts';

const fileName = 'gateway.config.yml';
const readMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The routes of the map, or everything that is wrong with it. */
export interface CheckedGateway {
  /** One for each version that it may start. */
  readonly routes: readonly Route[];
  /** Pipelines in the file. */
  readonly pipelines: number;
  readonly problems: readonly string[];
}

/**
 * Loads the map of a directory, imports its plugins (nothing is started) and finds its workflow policies. Parameters of
 * policies are checked by the router when it starts: only a started plugin knows them.
 */
export async function checkGateway(dir: string, config: Config): Promise<CheckedGateway> {
  const file = join(dir, fileName);
  if (!existsSync(file)) return { routes: [], pipelines: 0, problems: [`${fileName}: there is no such file`] };
  try {
    const gatewayConfig = loadGatewayConfig(file, config);
    // Only this verb needs Express Gateway, and it takes longer to load than all the others together.
    const { importPlugins } = await import('../gateway/load-plugins.ts');
    const plugins = await importPlugins(gatewayConfig, rootDir);
    const { routes, problems } = findRoutes(gatewayConfig, config['router.waitBudgetMs']);
    const pipelines = Object.keys(gatewayConfig.pipelines).length;
    return { routes, pipelines, problems: [...plugins.problems.map(inFile), ...problems] };
  } catch (error) {
    if (!(error instanceof GatewayConfigError)) throw error;
    return { routes: [], pipelines: 0, problems: error.problems.map(inFile) };
  }
}

function inFile(problem: string): string {
  return `${fileName}: ${problem}`;
}

function findRoutes(config: GatewayConfig, defaultBudgetMs: number): { routes: Route[]; problems: string[] } {
  const routes: Route[] = [];
  const problems: string[] = [];
  for (const [name, { apiEndpoints }] of Object.entries(config.pipelines)) {
    const methods = apiEndpoints.map((endpoint) => config.apiEndpoints[endpoint]?.methods);
    const writes = methods.some((list) => list === undefined || list.some((method) => !readMethods.has(method)));
    for (const { policy, action, path } of stepsOf(config, name)) {
      if (policy !== 'workflow') continue;
      const { name: workflow, waitBudgetMs = defaultBudgetMs } = action;
      const { pinned, problems: pinProblems } = readPinnedVersions(action);
      const place = `${fileName}: ${path}`;
      problems.push(...descriptionProblems(config, apiEndpoints, action).map((problem) => `${place}: ${problem}`));
      problems.push(...pinProblems.map((problem) => `${place}.action: ${problem}`));
      if (typeof workflow !== 'string' || typeof waitBudgetMs !== 'number') {
        problems.push(`${place}: needs the name of a workflow, and waitBudgetMs is a number`);
        continue;
      }
      const versions = [...(pinned?.shares.keys() ?? [])];
      routes.push(...versions.map((version) => ({ name, place, workflow, version, waitBudgetMs, writes })));
    }
  }
  return { routes, problems };
}

/** The router would not start with a description of a back end that is broken, or of what is not routed. */
function descriptionProblems(
  { apiEndpoints }: GatewayConfig,
  served: readonly string[],
  { openapi, strip }: Record<string, unknown>,
): string[] {
  if (typeof openapi !== 'string' || typeof strip !== 'string') return [];
  try {
    const description = readBackEndDescription(openapi);
    for (const name of served) {
      const endpoint = apiEndpoints[name];
      if (endpoint !== undefined) operationsBelow(description, templateOf(strip), describedEndpoint(name, endpoint));
    }
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}
