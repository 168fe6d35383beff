// A route of the gateway configuration in the words of the OpenAPI document.

import type { Endpoint } from '../contract/description.ts';
import { templateOf } from '../contract/templates.ts';
import { allMethods, pathsOf } from './gateway-config-schema.ts';
import type { GatewayRoute } from './gateway-routes.ts';

/** @throws Error when OpenAPI has no words for one of its paths */
export function describedEndpoint({ name, endpoint }: Pick<GatewayRoute, 'name' | 'endpoint'>): Endpoint {
  return { name, templates: pathsOf(endpoint).map(templateOf), methods: endpoint.methods ?? allMethods };
}
