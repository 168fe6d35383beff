// Creates the version choice for every route that starts workflows, with its guards, readiness notices and required
// definitions.

import type { PinnedVersions } from '#lib/conductor/definitions/pinned-versions.ts';
import type { RouterServices } from '../../../gateway/plugin-api/plugin-api.ts';
import { RouteVersions } from './route-versions.ts';
import { type GuardOptions, type GuardedRoutes, VersionGuard } from './version-guard.ts';
import type { VersionState } from './version-state.ts';

/** A workflow version that requests may start. */
export interface NeededWorkflow {
  readonly name: string;
  readonly version: number;
}

/** One use of the policy `workflow` in gateway.config.yml. */
export interface WorkflowRoute {
  readonly workflow: string;
  /** Common prefix of the public paths of the policy. */
  readonly prefix: string;
  readonly pinned: PinnedVersions;
  /** Undefined when no version may be removed from the split. */
  readonly guard: GuardOptions | undefined;
}

/** Workflow versions of one configuration. */
export interface Versions {
  /**
   * Returns the version choice of a policy.
   * @param parameters the parameters object of that policy
   * @throws Error when the policy does not belong to this configuration
   */
  at(parameters: object): RouteVersions;
  /** Every version that a route may start. */
  readonly needed: readonly NeededWorkflow[];
  /** Returns whether a route has `versions` for a workflow. If so, responses name the version of the execution. */
  isSplit(workflow: string): boolean;
}

/**
 * Creates the versions of a configuration. Metrics and `/health/ready` show them only after the configuration is
 * activated.
 * @param state shared state that outlives the configuration
 * @param policies the uses of the policy `workflow`, by their parameters
 */
export function createVersions(
  services: RouterServices,
  state: VersionState,
  policies: ReadonlyMap<object, WorkflowRoute>,
): Versions {
  const { config, log, addReadinessNotice, onActivate } = services;
  const dependencies = {
    scope: config['router.versionScope'],
    metrics: state.metrics,
    engineFailures: state.engineFailures,
    log,
  };
  const versions = new Map(
    [...policies].map(([parameters, policy]) => {
      const { workflow, pinned } = policy;
      return [
        parameters,
        new RouteVersions({ workflow, pinned, guarded: shareGuardedRoutes(services, policy) }, dependencies),
      ] as const;
    }),
  );
  const all = [...versions.values()];
  addReadinessNotice('versions', () => all.flatMap(({ notices }) => notices));
  onActivate(() => state.activate(all));
  const split = new Set([...policies.values()].filter(({ pinned }) => pinned.isSplit).map(({ workflow }) => workflow));
  return {
    needed: [...policies.values()].flatMap(({ workflow, pinned }) =>
      [...pinned.shares.keys()].map((version) => ({ name: workflow, version })),
    ),
    at(parameters) {
      const found = versions.get(parameters);
      if (found === undefined) throw new Error('the policy does not belong to this configuration');
      return found;
    },
    isSplit: (workflow) => split.has(workflow),
  };
}

/**
 * Returns the guard of a route; undefined when the route has none. The next configuration keeps the guard and its
 * counts, unless it changes the workflow, public prefix, versions, shares or limits of the route.
 */
function shareGuardedRoutes(
  { share }: Pick<RouterServices, 'share'>,
  { workflow, prefix, pinned, guard }: WorkflowRoute,
): GuardedRoutes | undefined {
  if (guard === undefined) return undefined;
  const identity = [workflow, prefix, [...pinned.shares], guard];
  return share('version guard', identity, () => ({ guard: new VersionGuard(guard), routes: new Set<string>() }));
}
