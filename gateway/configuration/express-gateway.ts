// The parts of Express Gateway that the router runs: its policy registry, its conditions and its pipelines.

import { createRequire } from 'node:module';
import express, { type Router } from 'express';
import { contextOf } from '../plugin-api/plugin-api.ts';

interface EgPolicy {
  name: string;
  schema: Record<string, unknown>;
  policy: (action: Record<string, unknown>) => express.RequestHandler;
}

interface EgModules {
  pipelines: { bootstrap(options: { app: Router; config: { gatewayConfig: unknown } }): Promise<Router> };
  policies: { register(policy: EgPolicy): void };
  conditions: { init(): unknown; conditions: Record<string, (config: unknown) => unknown> };
  loggers: Record<string, { silent?: boolean }>;
}

const require = createRequire(import.meta.url);
let modules: EgModules | undefined;

/** Loads Express Gateway's own modules once; its console logger is silenced, ours speaks for it. */
export function expressGateway(): EgModules {
  if (modules !== undefined) return modules;
  const loggers = require('express-gateway/lib/logger') as EgModules['loggers'];
  for (const logger of Object.values(loggers)) if (typeof logger === 'object') logger.silent = true;
  shareContexts();
  modules = {
    loggers,
    pipelines: require('express-gateway/lib/gateway/pipelines') as EgModules['pipelines'],
    policies: require('express-gateway/lib/policies') as EgModules['policies'],
    conditions: require('express-gateway/lib/conditions') as EgModules['conditions'],
  };
  modules.conditions.init();
  return modules;
}

/**
 * Express Gateway makes a new object for each request, and a context that has it as its prototype. V8 makes hidden classes
 * for every new prototype, in the old generation: they, and much of what a request had, lived until the next full
 * collection, and quick ones took 30 ms instead of 4. Here all contexts have one prototype. What was a request's own in
 * it, `requestID`, is read from the request.
 */
function shareContexts(): void {
  const path = require.resolve('express-gateway/lib/gateway/context');
  const EgContext = require(path) as new () => object;
  const shared = Object.create(EgContext.prototype as object) as object;
  Object.defineProperty(shared, 'requestID', {
    get(this: { req: object }) {
      return contextOf(this.req).requestId;
    },
  });
  // A constructor that returns an object makes that one.
  function SharedContext(): object {
    return shared;
  }
  (require.cache[path] as NodeJS.Module).exports = SharedContext;
}

/** An empty router for {@link EgModules.pipelines} to mount on. */
export function createRouter(): Router {
  return express.Router();
}
