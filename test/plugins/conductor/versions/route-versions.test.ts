// Tests of the versions of one route: which requests count for the guard and the metrics, and that failures of the
// engine do not.

import type { Request, Response } from 'express';
import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it } from 'vitest';
import type { EngineCall } from '#lib/conductor/engine.ts';
import { contextOf } from '../../../../gateway/plugin-api/plugin-api.ts';
import { setContext } from '../../../../gateway/plugin-api/request-context.ts';
import type { ExecutionEnding } from '../../../../plugins/conductor/execution/outcome.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { EngineFailures } from '../../../../plugins/conductor/versions/engine-failures.ts';
import { RouteVersions } from '../../../../plugins/conductor/versions/route-versions.ts';
import { VersionGuard } from '../../../../plugins/conductor/versions/version-guard.ts';
import { createVersionMetrics } from '../../../../plugins/conductor/versions/version-metrics.ts';

const failed: ExecutionEnding = { problem: 'execution-failed', clientGone: false };
const answered: ExecutionEnding = { problem: undefined, status: 200, clientGone: false };
const engineAway = {
  request: { method: 'GET', path: '/x' },
  startedAt: 0,
  ms: 1,
  outcome: 'unreachable',
} as EngineCall;

let registry: Registry;
let engineFailures: EngineFailures;
let versions: RouteVersions;
beforeEach(() => {
  registry = new Registry();
  engineFailures = new EngineFailures();
  const log = createLog('test', 'silent');
  const parts = {
    scope: 'choose',
    metrics: createVersionMetrics(registry, () => versions.guardedVersions),
    engineFailures,
    log,
  };
  const shares = new Map([
    [1, 50],
    [2, 50],
  ]);
  const guard = new VersionGuard({ failurePercent: 20, windowMs: 60_000, minRequests: 5 });
  const judged = { guard, routes: new Set<string>() };
  versions = new RouteVersions({ workflow: 'moviesWF', pinned: { shares, isSplit: true }, guarded: judged }, parts);
});

function ask(clientId: string | undefined, headers: Record<string, string> = {}, clientAddress = '192.0.2.1') {
  const request = { headers, method: 'GET' } as unknown as Request;
  const fields: Record<string, string> = {};
  const response = {
    req: request,
    setHeader: (name: string, value: string) => void (fields[name] = value),
  } as unknown as Response;
  const context = { requestId: 'r', clientAddress, route: 'movies', scopes: new Set(['choose']) };
  setContext(request, clientId === undefined ? context : { ...context, clientId });
  return { ...versions.choose(request, response), fields, context: contextOf(request) };
}

const clients = Array.from({ length: 40 }, (_, n) => `client-${n}`);
const outNow = async () =>
  (await registry.getSingleMetric('router_version_removed')!.get()).values.map(({ labels, value }) => [
    (labels as Record<string, unknown>)['version'],
    value,
  ]);
/** Sends one request per client: requests to version 2 end with `endingOfTwo`, those to version 1 with a response. */
const askAll = (endingOfTwo: ExecutionEnding, meanwhile: () => void = () => undefined) => {
  for (const client of clients) {
    const { version, ended } = ask(client);
    meanwhile();
    ended(version === 2 ? endingOfTwo : answered, 10);
  }
};

describe('RouteVersions', () => {
  it('the log and the response name the version that a client gets', () => {
    const { version, fields, context } = ask('client-0');
    expect([fields['x-workflow-version'], context.workflowVersion]).toEqual([String(version), version]);
  });

  it('requests without a token from the same network get the same version', () => {
    const networks = Array.from({ length: 40 }, (_, n) => `2001:db8:0:${n}:`);
    const versionsOf = (host: string) => networks.map((network) => ask(undefined, {}, `${network}${host}`).version);
    const [first, second] = [versionsOf(':1'), versionsOf(':2')];
    expect(first).toEqual(second);
    expect(new Set(first)).toEqual(new Set([1, 2]));
  });

  it('the gauge is 0 before any outcome, and 1 for a version that was removed', async () => {
    ask('client-0');
    expect(await outNow()).toEqual([
      [1, 0],
      [2, 0],
    ]);
    askAll(failed);
    expect(await outNow()).toEqual([
      [1, 0],
      [2, 1],
    ]);
    expect(versions.notices).toEqual(['movies: version 2 failed too often; the router no longer chooses it']);
    expect(new Set(clients.map((client) => ask(client).version))).toEqual(new Set([1]));
  });

  it('failures while the engine fails count against no version, and the metrics show not-counted', async () => {
    askAll(failed, () => engineFailures.observe(engineAway));
    expect(versions.notices).toEqual([]);
    const { values } = await registry.getSingleMetric('router_version_seconds')!.get();
    const outcomes = new Set(values.map(({ labels }) => (labels as Record<string, unknown>)['outcome']));
    expect(outcomes).toEqual(new Set(['ok', 'not-counted']));
    // Earlier failures of the engine do not excuse later failures of the version.
    askAll(failed);
    expect(versions.notices).toHaveLength(1);
  });

  it('requests that choose their version do not count for the guard', () => {
    for (let n = 0; n < 20; n++) {
      ask('client-0', { 'x-workflow-version': '1' }).ended(answered, 1);
      ask('client-0', { 'x-workflow-version': '2' }).ended(failed, 1);
    }
    expect(versions.notices).toEqual([]);
  });
});
