// Looks up requests in the route table: finds the entry for a path and method, and the methods of a host and path.

import { createRequire } from 'node:module';
import express, { type Request, type RequestHandler } from 'express';
import { type GatewayConfig, methodsOf, pathsOf } from '../plugin-api/gateway-config-schema.ts';

const require = createRequire(import.meta.url);
/**
 * Express Gateway's host matcher: calls the handler for requests whose `Host` matches, and `next()` for others.
 */
const vhost = createRequire(require.resolve('express-gateway/lib/gateway/pipelines'))('vhost') as (
  host: string,
  handler: RequestHandler,
) => RequestHandler;

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
  const search = createSearch(routes, ({ methods, value }, { method, params }) => {
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

/** Creates a function that returns the methods of all endpoints that match the host and path of a request. */
export function createMethodLookup({ apiEndpoints }: GatewayConfig): (request: Request) => string[] {
  let found = new Set<string>();
  const routes = Object.values(apiEndpoints).map((endpoint) => ({
    host: endpoint.host,
    paths: pathsOf(endpoint),
    methods: methodsOf(endpoint),
  }));
  const search = createSearch(routes, ({ methods }) => {
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
 * Creates a function that calls `onMatch` for each route whose host and path match, in the given order, until `onMatch`
 * returns `end`. Uses an Express router and Express Gateway's host matcher, so that patterns mean the same as in
 * the pipelines. Leaves `request.params` unchanged.
 */
function createSearch<R extends { readonly paths: string[]; readonly host?: string | undefined }>(
  routes: readonly R[],
  onMatch: (route: R, request: Request) => 'continue' | 'end',
): (request: Request) => void {
  const probe = express.Router();
  for (const route of routes) {
    const { host = '*' } = route;
    const visit: RequestHandler = (request, _response, next) => {
      if (onMatch(route, request) === 'continue') next();
    };
    // Like Express Gateway, do not apply the host matcher to `*`: it would match only host names without dots.
    probe.all(route.paths, host === '*' ? visit : vhost(host, visit));
  }
  return (request) => {
    const { params } = request;
    // Every layer is synchronous, so the search has ended when the call returns.
    probe(request, {} as never, () => undefined);
    request.params = params;
  };
}
