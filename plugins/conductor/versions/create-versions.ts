// Puts together what the places in gateway.config.yml that start workflows share: metrics, notices, what must be registered.

import type { EngineCall } from '../../../conductor/engine.ts';
import type { RouterServices } from '../../../gateway/contract.ts';
import { EngineFailures } from './engine-failures.ts';
import { RouteVersions, type RouteVersionsOptions } from './route-versions.ts';
import { createVersionMetrics } from './version-metrics.ts';

/** A workflow version that requests may need. */
export interface NeededWorkflow {
  readonly name: string;
  readonly version: number;
}

export interface Versions {
  /** For one place of the policy `workflow`. */
  at(place: RouteVersionsOptions): RouteVersions;
  /** Every version that the map may start. */
  readonly needed: readonly NeededWorkflow[];
  /** Whether clients of a workflow are told which version served them. */
  isSplit(workflow: string): boolean;
  /** To be told of every call to the engine. */
  observe(call: EngineCall): void;
}

export function createVersions({ config, metrics, log, addReadinessNotice }: RouterServices): Versions {
  const engineFailures = new EngineFailures();
  const parts = { scope: config['router.versionScope'], metrics: createVersionMetrics(metrics), engineFailures, log };
  const places: RouteVersions[] = [];
  const needed: NeededWorkflow[] = [];
  const split = new Set<string>();
  addReadinessNotice('versions', () => places.flatMap(({ notices }) => notices));
  return {
    needed,
    at(options) {
      const { workflow, pinned } = options;
      for (const version of pinned.shares.keys()) needed.push({ name: workflow, version });
      if (pinned.isSplit) split.add(workflow);
      const place = new RouteVersions(options, parts);
      places.push(place);
      return place;
    },
    isSplit: (workflow) => split.has(workflow),
    observe: (call) => engineFailures.observe(call),
  };
}
