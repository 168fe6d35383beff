// Route table lookups: the entry for the path and method of a request, and the methods of a path.

import express, { type Request } from 'express';
import { type GatewayConfig, methodsOf, pathsOf } from '../plugin-api/gateway-config-schema.ts';

/** One entry of the route table. */
export interface RouteEntry<T> {
  /** Express path patterns. */
  readonly paths: string[];
  /** Matching HTTP methods; any method when absent. */
  readonly methods?: readonly string[];
  readonly value: T;
}

/** A match in the route table. */
export interface FoundRoute<T> {
  readonly value: T;
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/** Returns the matching entry; undefined when there is none. */
export type RouteLookup<T> = (request: Request) => FoundRoute<T> | undefined;

/** Creates a lookup that returns the first matching entry, in the given order. */
export function createRouteLookup<T>(routes: readonly RouteEntry<T>[]): RouteLookup<T> {
  let found: FoundRoute<T> | undefined;
  const search = createPathSearch(routes, ({ methods, value }, { method, params }) => {
    if (methods?.includes(method) === false) return 'continue';
    found = { value, params };
    return 'end';
  });
  return (request) => {
    found = undefined;
    search(request);
    return found;
  };
}

/** Creates a function that returns the methods of every endpoint of the request's path; none for an unknown path. */
export function createMethodLookup({ apiEndpoints }: GatewayConfig): (request: Request) => string[] {
  let found = new Set<string>();
  const routes = Object.values(apiEndpoints).map((endpoint) => ({
    paths: pathsOf(endpoint),
    methods: methodsOf(endpoint),
  }));
  const search = createPathSearch(routes, ({ methods }) => {
    for (const method of methods) found.add(method);
    return 'continue';
  });
  return (request) => {
    found = new Set();
    search(request);
    return [...found];
  };
}

/**
 * Creates a function that calls `onMatch` for each route whose path matches, in the given order, until it returns `end`.
 * Uses an Express router, so that path patterns mean the same as in the pipelines. Leaves `request.params` unchanged.
 */
function createPathSearch<R extends Pick<RouteEntry<unknown>, 'paths'>>(
  routes: readonly R[],
  onMatch: (route: R, request: Request) => 'continue' | 'end',
): (request: Request) => void {
  const probe = express.Router();
  for (const route of routes) {
    probe.all(route.paths, (request, _response, next) => {
      if (onMatch(route, request) === 'continue') next();
    });
  }
  return (request) => {
    const { params } = request;
    // Every layer is synchronous, so the search has ended when the call returns.
    probe(request, {} as never, () => undefined);
    request.params = params;
  };
}
