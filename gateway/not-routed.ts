// What no pipeline took: 405 with `Allow` when the path is known under other methods, else 404.

import type { Request, RequestHandler } from 'express';
import express from 'express';
import { Problem } from '../problem/problem.ts';
import { type GatewayConfig, pathsOf } from './gateway-config-schema.ts';
import { methodsOf as methodsOfEndpoint } from './route-lookup.ts';

/** The last handler before the error handler. It also answers OPTIONS, which Express would answer for itself. */
export function createNotRouted(config: GatewayConfig): RequestHandler {
  const methodsOf = createMethodLookup(config);
  return function notRouted(request, _response, next) {
    const allowed = methodsOf(request);
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
  const methodsOf = createMethodLookup(config);
  return function gateMethods(request, response, next) {
    if (usual.has(request.method)) return next();
    const allowed = methodsOf(request);
    if (allowed.includes(request.method)) return next();
    notRouted(request, response, next);
  };
}

/** Asks Express itself which paths match, so that both agree on what a path pattern means. */
function createMethodLookup(config: GatewayConfig): (request: Request) => string[] {
  const found = new WeakMap<Request, string[]>();
  const probe = express.Router();
  for (const endpoint of Object.values(config.apiEndpoints)) {
    probe.all(pathsOf(endpoint), (request, _response, next) => {
      if (!found.has(request)) found.set(request, methodsOfEndpoint(endpoint));
      next();
    });
  }
  return (request) => {
    // Every layer is synchronous, so the answer is there when the call returns.
    probe(request, {} as never, () => undefined);
    return found.get(request) ?? [];
  };
}
