// The route table of gateway.config.yml: each apiEndpoint with the steps of its pipeline and the workflow that it starts.

import type { GatewayConfig, PipelineStep } from './gateway-config-schema.ts';

/** One apiEndpoint and the pipeline that serves it. */
export interface GatewayRoute {
  /** Name of the apiEndpoint: `route` in logs, metrics and executions. */
  readonly name: string;
  readonly endpoint: GatewayConfig['apiEndpoints'][string];
  /** Name of the pipeline. */
  readonly pipeline: string;
  readonly steps: readonly PipelineStep[];
  /** Name of the workflow; undefined when the route starts none. */
  readonly workflow: string | undefined;
}

/** Returns the routes in the order of `apiEndpoints`: Express Gateway uses the first one whose path matches. */
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

/** Returns the routes that start a workflow. */
export function workflowRoutes(routes: readonly GatewayRoute[]): (GatewayRoute & { readonly workflow: string })[] {
  return routes.flatMap((route) => (route.workflow === undefined ? [] : [{ ...route, workflow: route.workflow }]));
}

/** Returns the routes whose pipeline contains the policy. */
export function routesWith(routes: readonly GatewayRoute[], policy: string): GatewayRoute[] {
  return routes.filter(({ steps }) => steps.some((step) => step.policy === policy));
}

/** Returns the parameters of the first step with the policy; undefined when there is none. */
export function actionOf(steps: readonly PipelineStep[], policy: string): PipelineStep['action'] | undefined {
  return steps.find((step) => step.policy === policy)?.action;
}

/** Callers of a route: workers and operators (policy `engine-api`), clients that request a token (`token`), or API clients. */
export type RouteKind = 'clients' | 'tokens' | 'workers';

/** Returns the kind of a route, by the policies of its pipeline. */
export function kindOf({ steps }: Pick<GatewayRoute, 'steps'>): RouteKind {
  if (actionOf(steps, 'engine-api') !== undefined) return 'workers';
  return actionOf(steps, 'token') === undefined ? 'clients' : 'tokens';
}
