// Converts a route of the gateway configuration to an endpoint of the OpenAPI document.

import type { Endpoint } from '#lib/openapi/description.ts';
import { templateOf } from '#lib/openapi/templates.ts';
import { allMethods, pathsOf } from '../plugin-api/gateway-config-schema.ts';
import type { GatewayRoute } from '../plugin-api/gateway-routes.ts';

/** Returns the endpoint of a route. @throws Error when a path pattern cannot be expressed in OpenAPI */
export function describedEndpoint({ name, endpoint }: Pick<GatewayRoute, 'name' | 'endpoint'>): Endpoint {
  return { name, templates: pathsOf(endpoint).map(templateOf), methods: endpoint.methods ?? allMethods };
}
