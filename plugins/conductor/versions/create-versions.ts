// Puts together what the places in gateway.config.yml that start workflows share: notices, what must be registered, guards.

import type { PinnedVersions } from '#lib/conductor/definitions/pinned-versions.ts';
import type { RouterServices } from '../../../gateway/plugin-api/plugin-api.ts';
import { RouteVersions } from './route-versions.ts';
import { type GuardOptions, type Judged, VersionGuard } from './version-guard.ts';
import type { VersionState } from './version-state.ts';

/** A workflow version that requests may need. */
export interface NeededWorkflow {
  readonly name: string;
  readonly version: number;
}

/** One place of the policy `workflow`. */
export interface Place {
  readonly workflow: string;
  /** Leading part of its public paths. */
  readonly prefix: string;
  readonly pinned: PinnedVersions;
  /** Undefined: no version is ever taken out. */
  readonly guard: GuardOptions | undefined;
}

/** Those of one configuration. */
export interface Versions {
  /** @param parameters of the place, the object that it was made with */
  at(parameters: object): RouteVersions;
  /** Every version that a route may start. */
  readonly needed: readonly NeededWorkflow[];
  /** Whether clients of a workflow are told which version served them. */
  isSplit(workflow: string): boolean;
}

/**
 * Nothing of it is seen before the configuration takes over.
 * @param room what outlives the configuration
 * @param places by the parameters of the policy
 */
export function createVersions(
  services: RouterServices,
  room: VersionState,
  places: ReadonlyMap<object, Place>,
): Versions {
  const { config, log, addReadinessNotice, onActivate: onTakeOver } = services;
  const parts = {
    scope: config['router.versionScope'],
    metrics: room.metrics,
    engineFailures: room.engineFailures,
    log,
  };
  const versions = new Map(
    [...places].map(([parameters, place]) => {
      const { workflow, pinned } = place;
      return [parameters, new RouteVersions({ workflow, pinned, judged: keepJudged(services, place) }, parts)] as const;
    }),
  );
  const all = [...versions.values()];
  addReadinessNotice('versions', () => all.flatMap(({ notices }) => notices));
  onTakeOver(() => room.takeOver(all));
  const split = new Set([...places.values()].filter(({ pinned }) => pinned.isSplit).map(({ workflow }) => workflow));
  return {
    needed: [...places.values()].flatMap(({ workflow, pinned }) =>
      [...pinned.shares.keys()].map((version) => ({ name: workflow, version })),
    ),
    at(parameters) {
      const found = versions.get(parameters);
      if (found === undefined) throw new Error('the place is not one of this configuration');
      return found;
    },
    isSplit: (workflow) => split.has(workflow),
  };
}

/** What its guard has seen goes on in the next configuration, unless that has other versions, shares or limits there. */
function keepJudged(
  { share }: Pick<RouterServices, 'share'>,
  { workflow, prefix, pinned, guard }: Place,
): Judged | undefined {
  if (guard === undefined) return undefined;
  const from = [workflow, prefix, [...pinned.shares], guard];
  return share('version guard', from, () => ({ guard: new VersionGuard(guard), routes: new Set<string>() }));
}
