// Where a client finds its execution: the paths that gateway.config.yml gives to the policy `executions`.

import type { PolicyPlace } from '../../../gateway/plugin-api/plugin-api.ts';
import { pathsOf } from '../../../gateway/plugin-api/gateway-config-schema.ts';
import { actionOf, type GatewayRoute, routesWith } from '../../../gateway/plugin-api/gateway-routes.ts';

/** Paths below the router's address. */
export interface ExecutionLinks extends Readonly<Record<string, string>> {
  /** Its status; DELETE cancels it. */
  readonly self: string;
  /** The answer, once there is one. */
  readonly response: string;
}

export type LinksOf = (executionId: string) => ExecutionLinks;

/** What an endpoint of the policy `executions` serves. */
export const servedParts = ['status', 'response'] as const;

type ServedPart = (typeof servedParts)[number];

/** The first path of each part is the one that clients are shown. {@link linkProblems} says whether there is one. */
export function createLinks(routes: readonly GatewayRoute[]): LinksOf {
  const [status, response] = servedParts.map((part) => pathOf(routes, part)) as [string, string];
  return (executionId) => ({
    self: status.replace(':id', executionId),
    response: response.replace(':id', executionId),
  });
}

/** What keeps clients from finding their executions; said once, at the first route that could show a link. */
export function linkProblems({ routes, endpoints }: Pick<PolicyPlace, 'routes' | 'endpoints'>): string[] {
  const serving = routesWith(routes, 'executions');
  const [first] = [...routesWith(routes, 'workflow'), ...serving];
  if (!endpoints.some(({ name }) => name === first?.name)) return [];
  // What is misspelled is reported at its own place.
  const isKnown = ({ steps }: GatewayRoute) =>
    servedParts.some((part) => part === actionOf(steps, 'executions')?.['serve']);
  if (!serving.every(isKnown)) return [];
  return servedParts
    .filter((part) => pathOf(routes, part) === undefined)
    .map(
      (part) =>
        `clients could not find their executions: add an apiEndpoint with the path parameter :id, open to GET, and the policy executions with serve: ${part}`,
    );
}

/** A path of the policy `executions` names one execution, and nothing else that a link would have to know. */
export function pathProblems({ endpoints }: Pick<PolicyPlace, 'endpoints'>): string[] {
  return endpoints
    .flatMap(({ templates }) => templates)
    .filter((template) => [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).join() !== 'id')
    .map((template) => `the path ${template} names no execution: use :id, and no other parameter`);
}

function pathOf(routes: readonly GatewayRoute[], part: ServedPart): string | undefined {
  const serves = ({ steps }: GatewayRoute) => actionOf(steps, 'executions')?.['serve'] === part;
  const route = routes.find((each) => serves(each) && each.endpoint.methods?.includes('GET') !== false);
  return route && pathsOf(route.endpoint)[0];
}
