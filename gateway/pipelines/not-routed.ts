// Handlers for requests that match no route: 405 with `Allow` when the host and path accept other methods, else 404.

import type { RequestHandler } from 'express';
import { Problem } from '#lib/problem/problem.ts';
import { type GatewayConfig, routableMethods } from '../plugin-api/gateway-config-schema.ts';
import { createMethodLookup } from './route-lookup.ts';

/**
 * Creates the last handler before the error handler. It also handles OPTIONS, to which Express would otherwise respond
 * itself.
 */
export function createNotRouted(config: GatewayConfig): RequestHandler {
  const allowedMethods = createMethodLookup(config);
  return function notRouted(request, _response, next) {
    next(problemOf(allowedMethods(request)));
  };
}

function problemOf(allowed: readonly string[]): Problem {
  if (allowed.length === 0) return new Problem('not-found');
  return new Problem('method-not-allowed', { headers: { allow: allowed.join(', ') } });
}

/** Methods that are passed to Express regardless of the route. */
const passedMethods: ReadonlySet<string> = new Set(['HEAD', ...routableMethods]);

/**
 * Creates a handler that rejects unsupported methods before Express sees them. OPTIONS passes only for endpoints
 * without a `methods` list, so that Express never sends its own response. Other methods that Node parses (PROPFIND,
 * QUERY) never pass.
 */
export function createMethodGate(config: GatewayConfig): RequestHandler {
  const allowedMethods = createMethodLookup(config);
  return function gateMethods(request, _response, next) {
    if (passedMethods.has(request.method)) return next();
    const allowed = allowedMethods(request);
    next(allowed.includes(request.method) ? undefined : problemOf(allowed));
  };
}
