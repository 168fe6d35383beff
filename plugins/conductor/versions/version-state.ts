// What is known of workflow versions from the start of the router to its end, whatever configuration is in force.

import type { EngineCall } from '#lib/conductor/engine.ts';
import type { SharedServices } from '../../../gateway/plugin-api/plugin-api.ts';
import { EngineFailures } from './engine-failures.ts';
import type { RouteVersions } from './route-versions.ts';
import { createVersionMetrics, type VersionMetrics } from './version-metrics.ts';

export interface VersionState {
  readonly metrics: VersionMetrics;
  readonly engineFailures: EngineFailures;
  /** The places of the configuration that has taken over: its guards are those that the metrics show. */
  takeOver(places: readonly RouteVersions[]): void;
  /** To be told of every call to the engine. */
  observe(call: EngineCall): void;
}

export function createVersionState({ metrics }: Pick<SharedServices, 'metrics'>): VersionState {
  const engineFailures = new EngineFailures();
  let inForce: readonly RouteVersions[] = [];
  return {
    metrics: createVersionMetrics(metrics, () => inForce.flatMap(({ guarded }) => guarded)),
    engineFailures,
    takeOver: (places) => void (inForce = places),
    observe: (call) => engineFailures.observe(call),
  };
}
