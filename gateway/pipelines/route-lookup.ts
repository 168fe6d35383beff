// What the map has for the path of a request.

import express, { type Request } from 'express';
import { allMethods, type GatewayConfig } from '../plugin-api/gateway-config-schema.ts';

export interface LookedUp<T> {
  readonly paths: string[];
  /** Only requests with one of these; any when absent. */
  readonly methods?: readonly string[];
  readonly value: T;
}

export interface FoundRoute<T> {
  readonly value: T;
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

export type RouteLookup<T> = (request: Request) => FoundRoute<T> | undefined;

/**
 * The first that matches, in their order. Asks Express itself, so that all agree on what a path pattern means. It leaves
 * the parameters of the request as they were.
 */
export function createRouteLookup<T>(routes: readonly LookedUp<T>[]): RouteLookup<T> {
  let found: FoundRoute<T> | undefined;
  const probe = express.Router();
  for (const { paths, methods, value } of routes) {
    probe.all(paths, ({ method, params }, _response, next) => {
      if (methods?.includes(method) === false) return next();
      // No `next()`: the search ends here.
      found = { value, params };
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
export function methodsOf(endpoint: GatewayConfig['apiEndpoints'][string]): string[] {
  const methods: readonly string[] = endpoint.methods ?? allMethods;
  return methods.includes('GET') ? ['GET', 'HEAD', ...methods.filter((method) => method !== 'GET')] : [...methods];
}
