// State of workflow versions that outlives configurations: metrics and engine failures.

import type { EngineCall } from '#lib/conductor/engine.ts';
import type { SharedServices } from '../../../gateway/plugin-api/plugin-api.ts';
import { EngineFailures } from './engine-failures.ts';
import type { RouteVersions } from './route-versions.ts';
import { createVersionMetrics, type VersionMetrics } from './version-metrics.ts';

/** Shared state of workflow versions. */
export interface VersionState {
  readonly metrics: VersionMetrics;
  readonly engineFailures: EngineFailures;
  /** Sets the routes whose guards the metrics show: those of the activated configuration. */
  activate(routes: readonly RouteVersions[]): void;
  /** Call it after every call to the engine. */
  observe(call: EngineCall): void;
}

/** Creates the state and registers its metrics. */
export function createVersionState({ metrics }: Pick<SharedServices, 'metrics'>): VersionState {
  const engineFailures = new EngineFailures();
  let active: readonly RouteVersions[] = [];
  return {
    metrics: createVersionMetrics(metrics, () => active.flatMap(({ guardedVersions: guarded }) => guarded)),
    engineFailures,
    activate: (routes) => void (active = routes),
    observe: (call) => engineFailures.observe(call),
  };
}
