// Builds a configuration snapshot (plugins, policies, pipelines) while the active snapshot keeps serving requests.

import { setImmediate as nextTurn } from 'node:timers/promises';
import express from 'express';
import { forColleges } from '#lib/conductor/definitions/for-colleges.ts';
import { type KnownFiles, loadDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { Config } from '#lib/config/schema.ts';
import { LoadShedding } from '../pipelines/load-shedding.ts';
import { initPlugins } from '../configuration/load-plugins.ts';
import { mountPipelines } from '../pipelines/mount-pipelines.ts';
import { createMethodGate, createNotRouted } from '../pipelines/not-routed.ts';
import { loadGateway } from '../configuration/validate-gateway.ts';
import { ConfigSnapshot, type HostServices } from './config-snapshot.ts';
import type { SharedResources } from './shared-resources.ts';

/** Options of {@link buildSnapshot}. */
export interface BuildOptions {
  readonly config: Config;
  /** Path of the gateway configuration. */
  readonly gatewayConfigFile: string;
  /** Base directory of relative plugin paths and of the workflow definitions. */
  readonly rootDir: string;
  readonly hostServices: HostServices;
  readonly sharedResources: SharedResources;
  /** Cache of definition files that have already been read. */
  readonly knownFiles: KnownFiles;
  /** Time limit for the `init` of each plugin, in milliseconds; default: none. */
  readonly initDeadlineMs?: number;
}

/**
 * Builds a snapshot that serves no requests until it is activated. Yields to the event loop every few milliseconds.
 * @throws GatewayConfigError, DefinitionError, or the error of a plugin, after all resources have been released
 */
export async function buildSnapshot(options: BuildOptions): Promise<ConfigSnapshot> {
  const { config, gatewayConfigFile: file, rootDir, hostServices, sharedResources, knownFiles } = options;
  const gateway = await loadGateway({ file, rootDir, config });
  const definitions = forColleges(loadDefinitions(rootDir, knownFiles), config);
  const snapshot = new ConfigSnapshot({ config, gateway, definitions, hostServices, sharedResources });
  try {
    await nextTurn();
    await initialise(snapshot, options.initDeadlineMs);
  } catch (error) {
    await snapshot.stop();
    throw error;
  }
  return snapshot;
}

async function initialise(snapshot: ConfigSnapshot, initDeadlineMs: number | undefined): Promise<void> {
  const { gateway, services } = snapshot;
  const policies = await initPlugins(gateway.plugins, services, initDeadlineMs);
  await nextTurn();
  const router = express.Router();
  const { gatewayConfig } = gateway;
  const pipelines = await mountPipelines(gateway, policies, services);
  router.use(createMethodGate(gatewayConfig), pipelines, createNotRouted(gatewayConfig));
  snapshot.handler = router;
  const loadShedding = new LoadShedding(gateway.routes, policies);
  snapshot.shedLoad = loadShedding.check.bind(loadShedding);
}
