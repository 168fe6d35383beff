// Builds what serves requests from one configuration, beside whatever serves them now.

import { setImmediate as nextTurn } from 'node:timers/promises';
import express from 'express';
import { type KnownFiles, loadDefinitions } from '../../conductor/definitions/load-definitions.ts';
import type { Config } from '../../config/schema.ts';
import type { GatewayConfig } from '../gateway-config-schema.ts';
import { EarlyRefusals } from '../early-refusals.ts';
import { GatewayConfigError, loadGatewayConfig } from '../load-gateway-config.ts';
import { importPlugins, initPlugins } from '../load-plugins.ts';
import { mountPipelines } from '../mount-pipelines.ts';
import { createMethodGate, createNotRouted } from '../not-routed.ts';
import { RouterDocument } from '../router-document.ts';
import { Generation, type HouseServices } from './generation.ts';
import type { KeptParts } from './kept-parts.ts';

export interface BuildOptions {
  readonly config: Config;
  /** The map. */
  readonly gatewayConfigFile: string;
  /** Relative package paths resolve against it; it holds the definitions. */
  readonly rootDir: string;
  readonly house: HouseServices;
  readonly parts: KeptParts;
  readonly knownFiles: KnownFiles;
}

/**
 * Nothing of it serves anything yet. It gives other work its turn every few milliseconds.
 * @throws GatewayConfigError, DefinitionError and whatever a plugin throws; then nothing of it is left
 */
export async function buildGeneration(options: BuildOptions): Promise<Generation> {
  const { config, gatewayConfigFile, rootDir, knownFiles } = options;
  const gatewayConfig = loadGatewayConfig(gatewayConfigFile, config);
  const definitions = loadDefinitions(rootDir, knownFiles);
  const document = new RouterDocument();
  const generation = new Generation({ ...options, gatewayConfig, definitions, document: () => document.read() });
  try {
    await nextTurn();
    await fill(generation, gatewayConfig, { ...options, document });
  } catch (error) {
    await generation.stop();
    throw error;
  }
  return generation;
}

async function fill(
  generation: Generation,
  gatewayConfig: GatewayConfig,
  { gatewayConfigFile, rootDir, document }: BuildOptions & { document: RouterDocument },
): Promise<void> {
  const imported = await importPlugins(gatewayConfig, rootDir);
  if (imported.problems.length > 0) throw new GatewayConfigError(gatewayConfigFile, imported.problems);
  const { policies, steps, problems } = await initPlugins(gatewayConfig, imported, generation.services);
  if (problems.length > 0) throw new GatewayConfigError(gatewayConfigFile, problems);
  await nextTurn();
  await document.build(gatewayConfig, steps, policies);
  await nextTurn();
  const pipelines = await mountPipelines(gatewayConfig, steps, policies);
  const router = express.Router();
  router.use(createMethodGate(gatewayConfig), pipelines, createNotRouted(gatewayConfig));
  generation.handler = router;
  const early = new EarlyRefusals(gatewayConfig, policies);
  generation.refuseEarly = early.check.bind(early);
}
