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

/** In the order of `apiEndpoints`, in which Express Gateway asks them: the first whose path matches takes the request. */
export function mappedRoutes(map: GatewayConfig): MappedRoute[] {
  const pipelineOf = new Map(
    Object.entries(map.pipelines).flatMap(([pipeline, { apiEndpoints }]) =>
      apiEndpoints.map((name) => [name, pipeline] as const),
    ),
  );
  return Object.entries(map.apiEndpoints).flatMap(([name, endpoint]) => {
    const pipeline = pipelineOf.get(name);
    if (pipeline === undefined) return [];
    const steps = stepsOf(map, pipeline);
    const workflow = steps.find(({ policy }) => policy === 'workflow')?.action['name'];
    return [{ name, endpoint, steps, workflow: typeof workflow === 'string' ? workflow : undefined }];
  });
}

/** Those that start a workflow. */
export function workflowRoutes(routes: readonly MappedRoute[]): (MappedRoute & { readonly workflow: string })[] {
  return routes.flatMap((route) => (route.workflow === undefined ? [] : [{ ...route, workflow: route.workflow }]));
}
