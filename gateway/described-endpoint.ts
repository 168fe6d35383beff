// An apiEndpoint of the map in the words of the OpenAPI document.

import type { Endpoint } from '../contract/description.ts';
import { templateOf } from '../contract/templates.ts';
import { allMethods, type GatewayConfig, pathsOf } from './gateway-config-schema.ts';

/** @throws Error when OpenAPI has no words for one of its paths */
export function describedEndpoint(name: string, endpoint: GatewayConfig['apiEndpoints'][string]): Endpoint {
  return { name, templates: pathsOf(endpoint).map(templateOf), methods: endpoint.methods ?? allMethods };
}
