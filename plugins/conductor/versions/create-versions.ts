// Puts together what the places in gateway.config.yml that start workflows share: notices, what must be registered, guards.

import type { PinnedVersions } from '../../../conductor/definitions/pinned-versions.ts';
import type { RouterServices } from '../../../gateway/contract.ts';
import { RouteVersions } from './route-versions.ts';
import { type GuardOptions, type Judged, VersionGuard } from './version-guard.ts';
import type { VersionRoom } from './version-room.ts';

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
  at(place: Place): RouteVersions;
  /** Every version that the map may start. */
  readonly needed: readonly NeededWorkflow[];
  /** Whether clients of a workflow are told which version served them. */
  isSplit(workflow: string): boolean;
}

/** @param room what outlives the configuration */
export function createVersions(services: RouterServices, room: VersionRoom): Versions {
  const { config, log, addReadinessNotice, onTakeOver } = services;
  const parts = {
    scope: config['router.versionScope'],
    metrics: room.metrics,
    engineFailures: room.engineFailures,
    log,
  };
  const places: RouteVersions[] = [];
  const needed: NeededWorkflow[] = [];
  const split = new Set<string>();
  addReadinessNotice('versions', () => places.flatMap(({ notices }) => notices));
  onTakeOver(() => room.takeOver(places));
  return {
    needed,
    at(place) {
      const { workflow, pinned } = place;
      for (const version of pinned.shares.keys()) needed.push({ name: workflow, version });
      if (pinned.isSplit) split.add(workflow);
      const versions = new RouteVersions({ workflow, pinned, judged: keepJudged(services, place) }, parts);
      places.push(versions);
      return versions;
    },
    isSplit: (workflow) => split.has(workflow),
  };
}

/** What its guard has seen goes on in the next configuration, unless that has other versions, shares or limits there. */
function keepJudged(
  { keep }: Pick<RouterServices, 'keep'>,
  { workflow, prefix, pinned, guard }: Place,
): Judged | undefined {
  if (guard === undefined) return undefined;
  const from = [workflow, prefix, [...pinned.shares], guard];
  return keep('version guard', from, () => ({ guard: new VersionGuard(guard), routes: new Set<string>() }));
}
