// Loads the modules of Express Gateway that the router uses: policy registry, conditions and pipelines.

import { createRequire } from 'node:module';
import express, { type Router } from 'express';
import { contextOf } from '../plugin-api/plugin-api.ts';

interface EgPolicy {
  name: string;
  schema: Record<string, unknown>;
  policy: (action: Record<string, unknown>) => express.RequestHandler;
}

/** Creates the function that evaluates a condition for a request. @throws Error when the parameters are invalid */
type CreateCondition = (config: unknown) => unknown;

interface EgModules {
  pipelines: { bootstrap(options: { app: Router; config: { gatewayConfig: unknown } }): Promise<Router> };
  policies: { register(policy: EgPolicy): void };
  conditions: { init(): unknown; conditions: Record<string, CreateCondition> };
  loggers: Record<string, { silent?: boolean }>;
}

const require = createRequire(import.meta.url);
let modules: EgModules | undefined;

/** Loads Express Gateway's modules once, and disables its console logger. */
export function expressGateway(): EgModules {
  if (modules !== undefined) return modules;
  const loggers = require('express-gateway/lib/logger') as EgModules['loggers'];
  for (const logger of Object.values(loggers)) if (typeof logger === 'object') logger.silent = true;
  shareContextPrototype();
  modules = {
    loggers,
    pipelines: require('express-gateway/lib/gateway/pipelines') as EgModules['pipelines'],
    policies: require('express-gateway/lib/policies') as EgModules['policies'],
    conditions: require('express-gateway/lib/conditions') as EgModules['conditions'],
  };
  modules.conditions.init();
  letGetImplyHead(modules.conditions.conditions);
  return modules;
}

/**
 * Makes the condition `method` treat HEAD as GET, as routes do. Otherwise a step for GET, such as `bearer`, could be
 * bypassed with HEAD.
 */
function letGetImplyHead(conditions: Record<string, CreateCondition>): void {
  const create = conditions['method'] as CreateCondition;
  const createWithHead: CreateCondition = (config) => {
    const accepts = create(config) as (request: { readonly method: string }) => boolean;
    return (request: { readonly method: string }) =>
      accepts(request) || (request.method === 'HEAD' && accepts({ method: 'GET' }));
  };
  conditions['method'] = createWithHead;
}

/**
 * Makes all Express Gateway contexts share one prototype. Express Gateway creates a new prototype for each request,
 * and V8 allocates the hidden classes of these prototypes in the old generation. The hidden classes would retain
 * request data until the next full collection, and minor collections would take 30 ms instead of 4 ms. `requestID`, the
 * only per-request value, comes from the request.
 */
function shareContextPrototype(): void {
  const path = require.resolve('express-gateway/lib/gateway/context');
  const EgContext = require(path) as new () => object;
  const shared = Object.create(EgContext.prototype as object) as object;
  Object.defineProperty(shared, 'requestID', {
    get(this: { req: object }) {
      return contextOf(this.req).requestId;
    },
  });
  // A constructor that returns an object replaces the new instance with it.
  function SharedContext(): object {
    return shared;
  }
  (require.cache[path] as NodeJS.Module).exports = SharedContext;
}

/** Creates an empty Express router, on which {@link EgModules.pipelines} mounts the pipelines. */
export function createRouter(): Router {
  return express.Router();
}
