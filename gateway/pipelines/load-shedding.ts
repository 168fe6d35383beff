// Refuses what a policy would refuse, before the pipeline begins: so that under a flood the refusals leave the time to what is served.

import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import { contextOf, type SheddingCheck, type Policy } from '../plugin-api/plugin-api.ts';
import { type PipelineStep, pathsOf } from '../plugin-api/gateway-config-schema.ts';
import type { GatewayRoute } from '../plugin-api/gateway-routes.ts';
import { createRouteLookup, methodsOf, type RouteLookup } from './route-lookup.ts';

interface EarlyRoute {
  readonly name: string;
  readonly checks: readonly SheddingCheck[];
}

/** The routes of one configuration that have a policy which refuses early. */
export class LoadShedding {
  readonly #isRefusing: readonly (() => boolean)[];
  readonly #lookUp: RouteLookup<EarlyRoute>;

  /** @param policies those that the steps name */
  constructor(gatewayRoutes: readonly GatewayRoute[], policies: ReadonlyMap<string, Policy>) {
    const routes = gatewayRoutes.map(({ name, endpoint, steps }) => ({
      ...{ paths: pathsOf(endpoint), methods: methodsOf(endpoint) },
      // Which host a request is for is not looked at here.
      value: { name, checks: endpoint.host === undefined ? checksOf(steps, policies) : [] },
    }));
    this.#isRefusing = routes.flatMap(({ value }) => value.checks.flatMap(({ isRefusing }) => isRefusing ?? []));
    this.#lookUp = createRouteLookup(routes);
  }

  /** @throws Problem that a policy of its pipeline would answer this request with */
  check(request: IncomingMessage): void {
    if (!this.#isRefusing.some((isRefusing) => isRefusing())) return;
    const found = this.#lookUp(request as Request);
    if (found === undefined) return;
    const { params, value } = found;
    const context = contextOf(request);
    context.route = value.name;
    for (const { look } of value.checks) if (look({ request, context, params }) === 'unsure') return;
  }
}

/**
 * Up to the last step that refuses. None where a condition decides whether a step is taken, or where a policy before it
 * says nothing: that may be one that keeps strangers out, or answers by itself.
 */
function checksOf(steps: readonly PipelineStep[], policies: ReadonlyMap<string, Policy>): SheddingCheck[] {
  if (steps.some(({ condition }) => condition !== undefined)) return [];
  const checks = steps.map(({ policy, action }) => policies.get(policy)?.early?.(action as never));
  const asked = checks.slice(0, checks.findLastIndex((check) => check?.isRefusing !== undefined) + 1);
  const known = asked.filter((check) => check !== undefined);
  return known.length === asked.length ? known : [];
}
