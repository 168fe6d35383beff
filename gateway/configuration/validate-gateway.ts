// Validates gateway.config.yml as a whole without starting plugins, for `service-router check`, `npm start` and the
// router.

import type { OpenApiDocument } from '#lib/openapi/openapi.ts';
import { checkAuthentication } from './check-authentication.ts';
import { checkOrder } from './check-order.ts';
import { checkCondition, checkParameters } from './check-steps.ts';
import { describeGateway } from './describe-gateway.ts';
import { describedEndpoint } from './described-endpoint.ts';
import type { GatewayConfig } from '../plugin-api/gateway-config-schema.ts';
import type { GatewayRoute } from '../plugin-api/gateway-routes.ts';
import { createPauses } from '#lib/process/pauses.ts';
import { type ImportedPlugin, importPlugins } from './load-plugins.ts';
import type { PolicyDeclaration, PolicyContext } from '../plugin-api/policy.ts';
import { replacementOfPolicy } from './replaced-names.ts';
import { GatewayConfigError, type GatewayFile, type ReadGateway, readGatewayConfig } from './read-gateway-config.ts';

/** A valid gateway configuration with its imported plugins and its OpenAPI document. */
export interface Gateway extends ReadGateway {
  readonly gatewayConfig: GatewayConfig;
  readonly plugins: readonly ImportedPlugin[];
  /** The policies of the plugins, by name. */
  readonly declarations: ReadonlyMap<string, PolicyDeclaration>;
  readonly document: OpenApiDocument;
}

/** Result of a validation; `gateway` is set if there are no problems. */
export interface GatewayValidation extends ReadGateway {
  readonly gateway?: Gateway;
}

/**
 * Reads the file, imports its plugins, validates all parameters and builds the OpenAPI document. Yields to the event
 * loop between steps.
 */
export async function validateGateway(given: GatewayFile): Promise<GatewayValidation> {
  const pause = createPauses();
  const read = readGatewayConfig(given);
  const { gatewayConfig, steps, routes, problems } = read;
  if (gatewayConfig === undefined) return read;
  await pause();
  const plugins = await importPlugins(gatewayConfig, given.rootDir, problems);
  const declarations = new Map(
    plugins.flatMap(({ plugin }) => plugin.policies.map((policy) => [policy.name, policy] as const)),
  );
  const describable = routes.filter((route) => checkPaths(route, read));
  const placeOf = (pipeline: string): PolicyContext => ({
    ...{ config: given.config, rootDir: given.rootDir, routes },
    endpoints: describable.filter((route) => route.pipeline === pipeline).map(describedEndpoint),
  });
  for (const [pipeline, pipelineSteps] of steps) {
    const place = placeOf(pipeline);
    for (const step of pipelineSteps) {
      const declaration = declarations.get(step.policy);
      const replacement = replacementOfPolicy(step.policy);
      if (declaration !== undefined) checkParameters(step, { declaration, place }, problems);
      else if (replacement !== undefined) problems.add(step.path, replacement);
      checkCondition(step, problems);
      await pause();
    }
  }
  // Only valid conditions can be evaluated.
  if (problems.count === 0) {
    for (const pipelineSteps of steps.values()) checkOrder(pipelineSteps, declarations, problems);
    for (const route of routes) checkAuthentication(route, declarations, problems);
  }
  if (problems.count > 0) return read;
  const document = await describe(read, declarations, ({ pipeline }) => placeOf(pipeline));
  return document === undefined
    ? read
    : { ...read, gateway: { ...read, gatewayConfig, plugins, declarations, document } };
}

/** Validates the file and returns the gateway configuration. @throws GatewayConfigError that lists all problems */
export async function loadGateway(given: GatewayFile): Promise<Gateway> {
  const { gateway, problems } = await validateGateway(given);
  if (gateway === undefined) throw new GatewayConfigError(problems.lines);
  return gateway;
}

/** Adds a problem and returns false when a path of the route cannot be expressed in OpenAPI. */
function checkPaths(route: GatewayRoute, { problems }: ReadGateway): boolean {
  try {
    describedEndpoint(route);
    return true;
  } catch (error) {
    problems.add(['apiEndpoints', route.name], (error as Error).message, 'paths');
    return false;
  }
}

/** Builds the OpenAPI document; adds a problem and returns undefined when two descriptions contradict each other. */
async function describe(
  { routes, problems }: ReadGateway,
  declarations: ReadonlyMap<string, PolicyDeclaration>,
  placeOf: (route: GatewayRoute) => PolicyContext,
): Promise<OpenApiDocument | undefined> {
  try {
    return await describeGateway(routes, declarations, placeOf);
  } catch (error) {
    problems.add(['apiEndpoints'], (error as Error).message);
    return undefined;
  }
}
