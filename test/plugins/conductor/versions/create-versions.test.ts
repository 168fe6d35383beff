// Tests of reloads: a guard keeps its counts unless the next configuration changes the route's workflow, public prefix,
// versions, shares or limits, or removes the route.

import type { Request, Response } from 'express';
import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import type { RouterServices } from '../../../../gateway/plugin-api/plugin-api.ts';
import { setContext } from '../../../../gateway/plugin-api/request-context.ts';
import { SharedResources } from '../../../../gateway/snapshots/shared-resources.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { createVersions, type WorkflowRoute } from '../../../../plugins/conductor/versions/create-versions.ts';
import type { RouteVersions } from '../../../../plugins/conductor/versions/route-versions.ts';
import { createVersionState, type VersionState } from '../../../../plugins/conductor/versions/version-state.ts';

const log = createLog('test', 'silent');
const sharesOf = (...shares: [version: number, share: number][]) => ({ shares: new Map(shares), isSplit: true });
const place: WorkflowRoute = {
  ...{ workflow: 'moviesWF', prefix: '/movies' },
  pinned: sharesOf([1, 50], [2, 50]),
  guard: { failurePercent: 20, windowMs: 60_000, minRequests: 5 },
};
const clients = Array.from({ length: 40 }, (_, n) => `client-${n}`);

let registry: Registry;
let parts: SharedResources;
let room: VersionState;
beforeEach(() => {
  registry = new Registry();
  const draining = new AbortController().signal;
  parts = new SharedResources({ config: {} as Config, log, metrics: registry, draining });
  room = createVersionState({ metrics: registry });
});

/** Loads a configuration with these routes. */
function load(...places: WorkflowRoute[]) {
  const takes: (() => void)[] = [];
  const user = {};
  const services: Partial<RouterServices> = {
    ...{ config: {} as Config, log },
    share: (name, from, make) => parts.use(user, { name, from }, make),
    addReadinessNotice: () => undefined,
    onActivate: (take) => takes.push(take),
  };
  const versions = createVersions(services as RouterServices, room, new Map(places.map((each) => [each, each])));
  const at = places.map((each) => versions.at(each));
  return {
    at: at as [RouteVersions, ...RouteVersions[]],
    activate: () => takes.forEach((take) => take()),
    stop: () => parts.release(user),
  };
}

function choose(versions: RouteVersions, clientId: string) {
  const request = { headers: {}, socket: {} } as unknown as Request;
  const response = { req: request, setHeader: () => undefined } as unknown as Response;
  setContext(request, { requestId: 'r', clientAddress: '192.0.2.1', route: 'movies', clientId });
  return versions.choose(request, response);
}

/** Makes every request to version 2 fail. */
function failTwo(versions: RouteVersions): void {
  for (const client of clients) {
    const { version, ended } = choose(versions, client);
    ended({ problem: version === 2 ? 'execution-failed' : undefined, clientGone: false }, 1);
  }
}
const versionsOf = (versions: RouteVersions) =>
  [...new Set(clients.map((client) => choose(versions, client).version))].toSorted();
const gauge = async () =>
  (await registry.getSingleMetric('router_version_removed')!.get()).values.map(({ labels, value }) => [
    (labels as Record<string, unknown>)['version'],
    value,
  ]);

describe('createVersions', () => {
  it('a removed version, its notice and its metric survive a reload that leaves the versions unchanged', async () => {
    const first = load(place);
    first.activate();
    failTwo(first.at[0]);
    const second = load({ ...place, pinned: sharesOf([1, 50], [2, 50]) });
    second.activate();
    await first.stop();
    expect(second.at[0].notices).toEqual(['movies: version 2 failed too often; the router no longer chooses it']);
    expect(await gauge()).toEqual([
      [1, 0],
      [2, 1],
    ]);
    expect(versionsOf(second.at[0])).toEqual([1]);
  });

  const others: [string, WorkflowRoute, number[]][] = [
    ['shares', { ...place, pinned: sharesOf([1, 50], [2, 51]) }, [1, 2]],
    ['versions', { ...place, pinned: sharesOf([1, 50], [3, 50]) }, [1, 3]],
    ['limits', { ...place, guard: { failurePercent: 21, windowMs: 60_000, minRequests: 5 } }, [1, 2]],
    ['prefix', { ...place, prefix: '/films' }, [1, 2]],
  ];
  it.each(others)('changed %s: the guard and its metric start again', async (_what, other, expected) => {
    const first = load(place);
    first.activate();
    failTwo(first.at[0]);
    const second = load(other);
    second.activate();
    expect(await gauge()).toEqual([]);
    expect(versionsOf(second.at[0])).toEqual(expected);
    expect(await gauge()).toEqual(expected.map((version) => [version, 0]));
  });

  it('a configuration that is not activated changes nothing', async () => {
    const first = load(place);
    first.activate();
    failTwo(first.at[0]);
    const refused = load({ ...place, pinned: sharesOf([1, 1], [3, 1]) });
    await refused.stop();
    expect(versionsOf(first.at[0])).toEqual([1]);
    expect(await gauge()).toContainEqual([2, 1]);
  });

  it('a route that is removed and added again: the guard starts again', async () => {
    const first = load(place);
    first.activate();
    failTwo(first.at[0]);
    const between = load();
    between.activate();
    await first.stop();
    expect(versionsOf(load(place).at[0])).toEqual([1, 2]);
    expect(parts.size).toBe(1);
  });
});
