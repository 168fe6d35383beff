// Reads and validates gateway.config.yml as the router does.

import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { Config } from '#lib/config/schema.ts';
import type { GatewayFile } from '../../gateway/configuration/read-gateway-config.ts';
import type { Gateway } from '../../gateway/configuration/validate-gateway.ts';
import { CommandError } from '../outcome.ts';

/** Returns the gateway configuration file that `router.gatewayConfigFile` names, resolved against `rootDir`. */
export function gatewayFile(config: Config, rootDir: string): GatewayFile {
  return { config, rootDir, file: resolve(rootDir, config['router.gatewayConfigFile']) };
}

/** Returns the validated gateway configuration. @throws CommandError that lists every problem */
export async function readGateway(config: Config, dir: string): Promise<Gateway> {
  // Imported here because only some commands need the plugins, which load slowly.
  const { validateGateway } = await import('../../gateway/configuration/validate-gateway.ts');
  const { gateway, problems } = await validateGateway(gatewayFile(config, dir));
  if (gateway === undefined) throw new CommandError(problems.lines);
  return gateway;
}

/**
 * Returns the validated gateway configuration of a directory, or undefined when the directory has none. An absolute
 * `router.gatewayConfigFile` is used regardless of the directory.
 * @throws CommandError that lists every problem
 */
export async function findGateway(config: Config, dir: string): Promise<Gateway | undefined> {
  if (isAbsolute(config['router.gatewayConfigFile'])) return readGateway(config, dir);
  return existsSync(gatewayFile(config, dir).file) ? readGateway(config, dir) : undefined;
}

/** Returns the route with this name. @throws CommandError that lists the existing routes */
export function routeNamed<Route extends { readonly name: string }>(routes: readonly Route[], name: string): Route {
  const found = routes.find((route) => route.name === name);
  if (found !== undefined) return found;
  throw new CommandError([`--route: ${name} is not one of ${routes.map((route) => route.name).join(', ')}`]);
}
