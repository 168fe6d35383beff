// Builds what serves requests from one configuration, beside whatever serves them now.

import { setImmediate as nextTurn } from 'node:timers/promises';
import express from 'express';
import { type KnownFiles, loadDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { Config } from '#lib/config/schema.ts';
import { LoadShedding } from '../pipelines/load-shedding.ts';
import { initPlugins } from '../configuration/load-plugins.ts';
import { mountPipelines } from '../pipelines/mount-pipelines.ts';
import { createMethodGate, createNotRouted } from '../pipelines/not-routed.ts';
import { loadGateway } from '../configuration/validate-gateway.ts';
import { ConfigSnapshot, type HostServices } from './config-snapshot.ts';
import type { SharedResources } from './shared-resources.ts';

export interface BuildOptions {
  readonly config: Config;
  /** The map. */
  readonly gatewayConfigFile: string;
  /** Relative package paths resolve against it; it holds the definitions. */
  readonly rootDir: string;
  readonly house: HostServices;
  readonly parts: SharedResources;
  readonly knownFiles: KnownFiles;
}

/**
 * Nothing of it serves anything yet. It gives other work its turn every few milliseconds.
 * @throws GatewayConfigError, DefinitionError and whatever a plugin throws; then nothing of it is left
 */
export async function buildSnapshot(options: BuildOptions): Promise<ConfigSnapshot> {
  const { config, gatewayConfigFile: file, rootDir, house, parts, knownFiles } = options;
  const gateway = await loadGateway({ file, rootDir, config });
  const definitions = loadDefinitions(rootDir, knownFiles);
  const generation = new ConfigSnapshot({ config, gateway, definitions, house, parts });
  try {
    await nextTurn();
    await fill(generation);
  } catch (error) {
    await generation.stop();
    throw error;
  }
  return generation;
}

async function fill(generation: ConfigSnapshot): Promise<void> {
  const { gateway, services } = generation;
  const policies = await initPlugins(gateway.plugins, services);
  await nextTurn();
  const router = express.Router();
  const { gatewayConfig } = gateway;
  router.use(createMethodGate(gatewayConfig), await mountPipelines(gateway, policies), createNotRouted(gatewayConfig));
  generation.handler = router;
  const early = new LoadShedding(gateway.routes, policies);
  generation.refuseEarly = early.check.bind(early);
}
