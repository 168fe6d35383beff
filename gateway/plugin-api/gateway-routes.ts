// The routes of gateway.config.yml: each apiEndpoint with the steps of its pipeline, and the workflow it starts.

import type { GatewayConfig, PipelineStep } from './gateway-config-schema.ts';

/** One apiEndpoint and the pipeline that serves it. */
export interface GatewayRoute {
  /** Name of the apiEndpoint: `route` in logs, metrics and executions. */
  readonly name: string;
  readonly endpoint: GatewayConfig['apiEndpoints'][string];
  /** Name of its pipeline. */
  readonly pipeline: string;
  readonly steps: readonly PipelineStep[];
  /** Undefined for those that start none. */
  readonly workflow: string | undefined;
}

/** In the order of `apiEndpoints`, in which Express Gateway asks them: the first whose path matches takes the request. */
export function routesOf(
  { apiEndpoints, pipelines }: GatewayConfig,
  steps: ReadonlyMap<string, readonly PipelineStep[]>,
): GatewayRoute[] {
  const pipelineOf = new Map(
    Object.entries(pipelines).flatMap(([pipeline, { apiEndpoints: served }]) =>
      served.map((name) => [name, pipeline] as const),
    ),
  );
  return Object.entries(apiEndpoints).flatMap(([name, endpoint]) => {
    const pipeline = pipelineOf.get(name);
    if (pipeline === undefined) return [];
    const ofRoute = steps.get(pipeline) ?? [];
    const workflow = actionOf(ofRoute, 'workflow')?.['name'];
    const started = typeof workflow === 'string' ? workflow : undefined;
    return [{ name, endpoint, pipeline, steps: ofRoute, workflow: started }];
  });
}

/** Those that start a workflow. */
export function workflowRoutes(routes: readonly GatewayRoute[]): (GatewayRoute & { readonly workflow: string })[] {
  return routes.flatMap((route) => (route.workflow === undefined ? [] : [{ ...route, workflow: route.workflow }]));
}

/** Those whose pipeline has a policy. */
export function routesWith(routes: readonly GatewayRoute[], policy: string): GatewayRoute[] {
  return routes.filter(({ steps }) => steps.some((step) => step.policy === policy));
}

/** The parameters of the first place of a policy; undefined when it has none. */
export function actionOf(steps: readonly PipelineStep[], policy: string): PipelineStep['action'] | undefined {
  return steps.find((step) => step.policy === policy)?.action;
}

/** Whom a route serves: workers and operators (policy `engine-api`), those who need a token (`token`), or clients. */
export type RouteKind = 'clients' | 'tokens' | 'workers';

export function kindOf({ steps }: Pick<GatewayRoute, 'steps'>): RouteKind {
  if (actionOf(steps, 'engine-api') !== undefined) return 'workers';
  return actionOf(steps, 'token') === undefined ? 'clients' : 'tokens';
}
