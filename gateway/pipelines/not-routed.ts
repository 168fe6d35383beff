// What no pipeline took: 405 with `Allow` when the path is known under other methods, else 404.

import type { Request, RequestHandler } from 'express';
import { Problem } from '#lib/problem/problem.ts';
import { type GatewayConfig, pathsOf } from '../plugin-api/gateway-config-schema.ts';
import { createRouteLookup, methodsOf } from './route-lookup.ts';

/** The last handler before the error handler. It also answers OPTIONS, which Express would answer for itself. */
export function createNotRouted(config: GatewayConfig): RequestHandler {
  const allowedMethods = createMethodLookup(config);
  return function notRouted(request, _response, next) {
    const allowed = allowedMethods(request);
    if (allowed.length === 0) return next(new Problem('not-found'));
    next(new Problem('method-not-allowed', { headers: { allow: allowed.join(', ') } }));
  };
}

const usual = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * Lets OPTIONS through only where the map names no methods, so that Express never invents an answer; and methods that
 * Node parses but nobody here knows (PROPFIND, QUERY and others) nowhere.
 */
export function createMethodGate(config: GatewayConfig): RequestHandler {
  const notRouted = createNotRouted(config);
  const allowedMethods = createMethodLookup(config);
  return function gateMethods(request, response, next) {
    if (usual.has(request.method)) return next();
    const allowed = allowedMethods(request);
    if (allowed.includes(request.method)) return next();
    notRouted(request, response, next);
  };
}

function createMethodLookup({ apiEndpoints }: GatewayConfig): (request: Request) => string[] {
  const endpoints = Object.values(apiEndpoints);
  const lookUp = createRouteLookup(
    endpoints.map((endpoint) => ({ paths: pathsOf(endpoint), value: methodsOf(endpoint) })),
  );
  return (request) => lookUp(request)?.value ?? [];
}
