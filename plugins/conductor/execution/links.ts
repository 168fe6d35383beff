// Links to an execution and its response: the paths of the policy `executions` in gateway.config.yml.

import type { PolicyContext } from '../../../gateway/plugin-api/plugin-api.ts';
import { pathsOf } from '../../../gateway/plugin-api/gateway-config-schema.ts';
import { actionOf, type GatewayRoute, routesWith } from '../../../gateway/plugin-api/gateway-routes.ts';

/** Links of an execution, as paths on the router. */
export interface ExecutionLinks extends Readonly<Record<string, string>> {
  /** The execution's status; DELETE cancels the execution. */
  readonly self: string;
  /** The response, once the execution has ended. */
  readonly response: string;
}

/** Returns the links of an execution. */
export type LinksOf = (executionId: string) => ExecutionLinks;

/** The resources that an endpoint of the policy `executions` can serve. */
export const servedParts = ['status', 'response'] as const;

type ServedResource = (typeof servedParts)[number];

/**
 * Creates the function that returns links. Links use the first path of each resource. {@link linkProblems} verifies
 * that each resource has a path.
 */
export function createLinks(routes: readonly GatewayRoute[]): LinksOf {
  const [status, response] = servedParts.map((part) => pathOf(routes, part)) as [string, string];
  return (executionId) => ({
    self: status.replace(':id', executionId),
    response: response.replace(':id', executionId),
  });
}

/**
 * Reports missing endpoints of the policy `executions`. They are reported once, for the first route whose responses
 * contain links.
 */
export function linkProblems({ routes, endpoints }: Pick<PolicyContext, 'routes' | 'endpoints'>): string[] {
  const serving = routesWith(routes, 'executions');
  const [first] = [...routesWith(routes, 'workflow'), ...serving];
  if (!endpoints.some(({ name }) => name === first?.name)) return [];
  // The schema check reports an unknown value of `serve`.
  const isKnown = ({ steps }: GatewayRoute) =>
    servedParts.some((part) => part === actionOf(steps, 'executions')?.['serve']);
  if (!serving.every(isKnown)) return [];
  return servedParts
    .filter((part) => pathOf(routes, part) === undefined)
    .map(
      (part) =>
        `clients cannot find their executions: add an apiEndpoint with the path parameter :id and the method GET, and in its pipeline the policy "executions" with serve: ${part}`,
    );
}

/**
 * Reports paths of the policy `executions` that do not have `:id` as their only parameter, because links fill in no
 * other parameter.
 */
export function pathProblems({ endpoints }: Pick<PolicyContext, 'endpoints'>): string[] {
  return endpoints
    .flatMap(({ templates }) => templates)
    .filter((template) => [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).join() !== 'id')
    .map((template) => `the path ${template} must have the parameter :id and no other, because it names an execution`);
}

function pathOf(routes: readonly GatewayRoute[], resource: ServedResource): string | undefined {
  const serves = ({ steps }: GatewayRoute) => actionOf(steps, 'executions')?.['serve'] === resource;
  const route = routes.find((candidate) => serves(candidate) && candidate.endpoint.methods?.includes('GET') !== false);
  return route && pathsOf(route.endpoint)[0];
}
