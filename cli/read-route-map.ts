// The routes of gateway.config.yml, read without loading the router.

import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { GatewayConfigError, loadGatewayConfig } from '../gateway/load-gateway-config.ts';
import { type MappedRoute, mappedRoutes } from '../gateway/mapped-routes.ts';
import { VerbError } from './outcome.ts';
import { rootDir } from './root-dir.ts';

/** @throws VerbError that lists everything wrong with the map */
export function readRouteMap(config: Config, dir = rootDir): MappedRoute[] {
  try {
    return mappedRoutes(loadGatewayConfig(join(dir, 'gateway.config.yml'), config));
  } catch (error) {
    if (!(error instanceof GatewayConfigError)) throw error;
    throw new VerbError(error.problems.map((problem) => `gateway.config.yml: ${problem}`));
  }
}

/** The route of this name. @throws VerbError that names those there are */
export function routeNamed<Route extends MappedRoute>(routes: readonly Route[], name: string): Route {
  const found = routes.find((route) => route.name === name);
  if (found !== undefined) return found;
  throw new VerbError([`--route: ${name} is none of ${routes.map((route) => route.name).join(', ')}`]);
}
