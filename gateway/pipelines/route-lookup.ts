// A route table lookup: finds the entry for the path and method of a request.

import express, { type Request } from 'express';
import { allMethods, type GatewayConfig } from '../plugin-api/gateway-config-schema.ts';

/** One entry of the route table. */
export interface RouteEntry<T> {
  /** Express path patterns. */
  readonly paths: string[];
  /** Matching HTTP methods; any method when absent. */
  readonly methods?: readonly string[];
  readonly value: T;
}

/** A match of the route table. */
export interface FoundRoute<T> {
  readonly value: T;
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/** Returns the matching entry; undefined when there is none. */
export type RouteLookup<T> = (request: Request) => FoundRoute<T> | undefined;

/**
 * Creates a lookup that returns the first matching entry, in the given order. Uses an Express router, so that path patterns
 * mean the same as in the pipelines. Leaves `request.params` unchanged.
 */
export function createRouteLookup<T>(routes: readonly RouteEntry<T>[]): RouteLookup<T> {
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
    // Every layer is synchronous, so `found` is set when the call returns.
    probe(request, {} as never, () => undefined);
    request.params = params;
    return found;
  };
}

/** Returns the methods of an endpoint; GET implies HEAD. */
export function methodsOf(endpoint: GatewayConfig['apiEndpoints'][string]): string[] {
  const methods: readonly string[] = endpoint.methods ?? allMethods;
  return methods.includes('GET') ? ['GET', 'HEAD', ...methods.filter((method) => method !== 'GET')] : [...methods];
}
