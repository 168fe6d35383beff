// Which apiEndpoint of the map a request is for.

import express, { type Request } from 'express';
import { allMethods, type GatewayConfig, pathsOf } from './gateway-config-schema.ts';

type Endpoint = GatewayConfig['apiEndpoints'][string];

export interface FoundRoute<T> {
  readonly value: T;
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * The first endpoint, in their order, whose path and method match. Asks Express itself, so that all agree on what a path
 * pattern means. One with a host of its own ends the search with nothing.
 */
export function createRouteLookup<T>(
  routes: readonly { readonly endpoint: Endpoint; readonly value: T }[],
): (request: Request) => FoundRoute<T> | undefined {
  let found: FoundRoute<T> | undefined;
  const probe = express.Router();
  for (const { endpoint, value } of routes) {
    const methods = new Set(methodsOf(endpoint));
    probe.all(pathsOf(endpoint), ({ method, params }, _response, next) => {
      if (!methods.has(method)) return next();
      // No `next()`: the search ends here.
      found = endpoint.host === undefined ? { value, params } : undefined;
    });
  }
  return (request) => {
    found = undefined;
    const { params } = request;
    // Every layer is synchronous, so the answer is there when the call returns.
    probe(request, {} as never, () => undefined);
    request.params = params;
    return found;
  };
}

/** The methods that an endpoint is open to: GET brings HEAD with it. */
export function methodsOf(endpoint: Endpoint): string[] {
  const methods: readonly string[] = endpoint.methods ?? allMethods;
  return methods.includes('GET') ? ['GET', 'HEAD', ...methods.filter((method) => method !== 'GET')] : [...methods];
}
