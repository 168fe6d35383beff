// gateway.config.yml of a directory, validated as the router validates it.

import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { Config } from '#lib/config/schema.ts';
import type { GatewayRoute } from '../gateway/plugin-api/gateway-routes.ts';
import type { GatewayFile } from '../gateway/configuration/read-gateway-config.ts';
import type { Gateway } from '../gateway/configuration/validate-gateway.ts';
import { CommandError } from './outcome.ts';
import { rootDir } from './root-dir.ts';

/** The file that the configuration names (`router.mapFile`), in a directory. */
export function gatewayFile(config: Config, dir = rootDir): GatewayFile {
  const directory = resolve(dir);
  return { config, rootDir: directory, file: resolve(directory, config['router.mapFile']) };
}

/** @throws VerbError that lists everything wrong with it */
export async function readGateway(config: Config, dir?: string): Promise<Gateway> {
  // Only some commands need the plugins, which take longer to load than the rest of the CLI.
  const { validateGateway } = await import('../gateway/configuration/validate-gateway.ts');
  const { gateway, problems } = await validateGateway(gatewayFile(config, dir));
  if (gateway === undefined) throw new CommandError(problems.lines);
  return gateway;
}

/**
 * The same for definitions that may stand alone: undefined when their directory has no gateway configuration. One that
 * the configuration names by an absolute path belongs to the product, wherever the definitions are. @throws VerbError
 */
export async function findGateway(config: Config, dir?: string): Promise<Gateway | undefined> {
  if (isAbsolute(config['router.mapFile'])) return readGateway(config);
  return existsSync(gatewayFile(config, dir).file) ? readGateway(config, dir) : undefined;
}

/** The route of this name. @throws VerbError that names those there are */
export function routeNamed<Route extends GatewayRoute>(routes: readonly Route[], name: string): Route {
  const found = routes.find((route) => route.name === name);
  if (found !== undefined) return found;
  throw new CommandError([`--route: ${name} is none of ${routes.map((route) => route.name).join(', ')}`]);
}
