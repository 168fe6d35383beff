// The route table of gateway.config.yml: each apiEndpoint with the steps of its pipeline and the workflows that it
// starts.

import type { GatewayConfig, PipelineStep } from './gateway-config-schema.ts';

/** One apiEndpoint and the pipeline that serves it. */
export interface GatewayRoute {
  /** Name of the apiEndpoint; called `route` in logs, metrics and executions. */
  readonly name: string;
  readonly endpoint: GatewayConfig['apiEndpoints'][string];
  /** Name of the pipeline. */
  readonly pipeline: string;
  readonly steps: readonly PipelineStep[];
  /** Names of the workflows that the route starts; several when steps with conditions start different workflows. */
  readonly workflows: readonly string[];
  /** The first of `workflows`. Deprecated: kept for plugins written for earlier versions. */
  readonly workflow: string | undefined;
}

/** A route and one of the workflows that it starts. */
export interface RouteWorkflow {
  readonly name: string;
  readonly workflow: string;
}

/**
 * Returns the routes in the order of `apiEndpoints`, because Express Gateway uses the first route whose path matches.
 */
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
    const started = actionsOf(ofRoute, 'workflow').flatMap(({ name: workflow }) =>
      typeof workflow === 'string' ? [workflow] : [],
    );
    const workflows = [...new Set(started)];
    return [{ name, endpoint, pipeline, steps: ofRoute, workflows, workflow: workflows[0] }];
  });
}

/** Returns an entry for each workflow of each route. */
export function workflowRoutes(routes: readonly GatewayRoute[]): RouteWorkflow[] {
  return routes.flatMap(({ name, workflows }) => workflows.map((workflow) => ({ name, workflow })));
}

/** Returns the routes whose pipeline contains the policy. */
export function routesWith(routes: readonly GatewayRoute[], policy: string): GatewayRoute[] {
  return routes.filter(({ steps }) => steps.some((step) => step.policy === policy));
}

/** Returns the parameters of the first step with the policy; undefined when there is none. */
export function actionOf(steps: readonly PipelineStep[], policy: string): PipelineStep['action'] | undefined {
  return actionsOf(steps, policy)[0];
}

/**
 * Returns the parameters of each step with the policy; a pipeline may have several such steps, each with a condition.
 */
export function actionsOf(steps: readonly PipelineStep[], policy: string): PipelineStep['action'][] {
  return steps.filter((step) => step.policy === policy).map(({ action }) => action);
}

/**
 * Callers of a route: workers and operators (policy `engine-api`), clients that request a token (`token`), or API
 * clients.
 */
export type RouteKind = 'clients' | 'tokens' | 'workers';

/** Returns the kind of a route, determined from the policies of its pipeline. */
export function kindOf({ steps }: Pick<GatewayRoute, 'steps'>): RouteKind {
  if (actionOf(steps, 'engine-api') !== undefined) return 'workers';
  return actionOf(steps, 'token') === undefined ? 'clients' : 'tokens';
}
