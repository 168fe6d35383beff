// The routes of gateway.config.yml that run a workflow, read without loading the router.

import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { type GatewayConfig, type PipelineStep, stepsOf } from '../gateway/gateway-config-schema.ts';
import { GatewayConfigError, loadGatewayConfig } from '../gateway/load-gateway-config.ts';
import { VerbError } from './outcome.ts';
import { rootDir } from './root-dir.ts';

/** One apiEndpoint and the pipeline that serves it. */
export interface MappedRoute {
  /** Name of the apiEndpoint: `route` in logs, metrics and executions. */
  readonly name: string;
  readonly endpoint: GatewayConfig['apiEndpoints'][string];
  readonly steps: readonly PipelineStep[];
  /** The workflow it starts; undefined for those that start none. */
  readonly workflow: string | undefined;
}

/** @throws VerbError that lists everything wrong with the map */
export function readRouteMap(config: Config, dir = rootDir): MappedRoute[] {
  const map = readMap(join(dir, 'gateway.config.yml'), config);
  return Object.entries(map.pipelines).flatMap(([pipeline, { apiEndpoints }]) => {
    const steps = stepsOf(map, pipeline);
    const workflow = steps.find(({ policy }) => policy === 'workflow')?.action['name'];
    return apiEndpoints.flatMap((name) => {
      const endpoint = map.apiEndpoints[name];
      return endpoint === undefined
        ? []
        : [{ name, endpoint, steps, workflow: typeof workflow === 'string' ? workflow : undefined }];
    });
  });
}

/** The route of this name. @throws VerbError that names those there are */
export function routeNamed(routes: readonly MappedRoute[], name: string): MappedRoute {
  const found = routes.find((route) => route.name === name);
  if (found !== undefined) return found;
  throw new VerbError([`--route: ${name} is none of ${routes.map((route) => route.name).join(', ')}`]);
}

/** Those that start a workflow. */
export function workflowRoutes(routes: readonly MappedRoute[]): (MappedRoute & { readonly workflow: string })[] {
  return routes.flatMap((route) => (route.workflow === undefined ? [] : [{ ...route, workflow: route.workflow }]));
}

function readMap(file: string, config: Config): GatewayConfig {
  try {
    return loadGatewayConfig(file, config);
  } catch (error) {
    if (!(error instanceof GatewayConfigError)) throw error;
    throw new VerbError(error.problems.map((problem) => `gateway.config.yml: ${problem}`));
  }
}
