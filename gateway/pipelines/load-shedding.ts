// Load shedding: rejects requests before their pipeline runs, so that under overload the rejections cost little CPU
// time.

import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import { contextOf, type SheddingCheck, type Policy } from '../plugin-api/plugin-api.ts';
import { methodsOf, type PipelineStep, pathsOf } from '../plugin-api/gateway-config-schema.ts';
import type { GatewayRoute } from '../plugin-api/gateway-routes.ts';
import { createRouteLookup, type RouteLookup } from './route-lookup.ts';

interface SheddingRoute {
  readonly name: string;
  readonly checks: readonly SheddingCheck[];
}

/** Runs the load-shedding checks of the policies of a route, without its pipeline. */
export class LoadShedding {
  readonly #isShedding: readonly (() => boolean)[];
  readonly #findRoute: RouteLookup<SheddingRoute>;

  /** @param policies by name; must contain every policy that the routes name */
  constructor(gatewayRoutes: readonly GatewayRoute[], policies: ReadonlyMap<string, Policy>) {
    const routes = gatewayRoutes.map(({ name, endpoint, steps }) => ({
      ...{ paths: pathsOf(endpoint), methods: methodsOf(endpoint) },
      // Routes with a `host` have no checks: Express Gateway groups routes by host, which changes their order.
      value: { name, checks: endpoint.host === undefined ? checksOf(steps, policies) : [] },
    }));
    this.#isShedding = routes.flatMap(({ value }) => value.checks.flatMap(({ isShedding }) => isShedding ?? []));
    this.#findRoute = createRouteLookup(routes);
  }

  /**
   * Runs the checks of the route in order while some policy is rejecting requests; otherwise does nothing.
   * @throws Problem that a policy of the pipeline would respond with
   */
  check(request: IncomingMessage): void {
    if (!this.#isShedding.some((isShedding) => isShedding())) return;
    const found = this.#findRoute(request as Request);
    if (found === undefined) return;
    const { params, value } = found;
    const context = contextOf(request);
    context.route = value.name;
    for (const { check } of value.checks) if (check({ request, context, params }) === 'unsure') return;
  }
}

/**
 * Returns the checks up to the last step that can reject. Returns none when any step has a condition, or when a policy
 * before the last step that can reject has no check: such a policy may authenticate the client or send the response
 * itself.
 */
function checksOf(steps: readonly PipelineStep[], policies: ReadonlyMap<string, Policy>): SheddingCheck[] {
  if (steps.some(({ condition }) => condition !== undefined)) return [];
  const checks = steps.map(({ policy, action }) => policies.get(policy)?.loadShedding?.(action as never));
  const relevant = checks.slice(0, checks.findLastIndex((check) => check?.isShedding !== undefined) + 1);
  const known = relevant.filter((check) => check !== undefined);
  return known.length === relevant.length ? known : [];
}
