// The routes of a checked gateway.config.yml: each apiEndpoint with what its pipeline does, and the workflow it starts.

import { type GatewayConfig, type PipelineStep, stepsOf } from './gateway-config-schema.ts';

/** One apiEndpoint and the pipeline that serves it. */
export interface MappedRoute {
  /** Name of the apiEndpoint: `route` in logs, metrics and executions. */
  readonly name: string;
  readonly endpoint: GatewayConfig['apiEndpoints'][string];
  readonly steps: readonly PipelineStep[];
  /** Undefined for those that start none. */
  readonly workflow: string | undefined;
}

/** In the order of the file. */
export function mappedRoutes(map: GatewayConfig): MappedRoute[] {
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

/** Those that start a workflow. */
export function workflowRoutes(routes: readonly MappedRoute[]): (MappedRoute & { readonly workflow: string })[] {
  return routes.flatMap((route) => (route.workflow === undefined ? [] : [{ ...route, workflow: route.workflow }]));
}
