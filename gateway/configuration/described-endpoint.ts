// A route of the gateway configuration in the words of the OpenAPI document.

import type { Endpoint } from '#lib/openapi/description.ts';
import { templateOf } from '#lib/openapi/templates.ts';
import { allMethods, pathsOf } from '../plugin-api/gateway-config-schema.ts';
import type { GatewayRoute } from '../plugin-api/gateway-routes.ts';

/** @throws Error when OpenAPI has no words for one of its paths */
export function describedEndpoint({ name, endpoint }: Pick<GatewayRoute, 'name' | 'endpoint'>): Endpoint {
  return { name, templates: pathsOf(endpoint).map(templateOf), methods: endpoint.methods ?? allMethods };
}
