// Tests of a router that starts before its engine: it counts no error and writes no warning until the engine has
// responded once.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKey, createToken } from '../plugins/oauth2/forge.ts';
import { type ProviderStandIn, startProviderStandIn } from '../plugins/oauth2/provider-stand-in.ts';
import { call } from '../stack/client.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { readCounts } from '../stack/metrics.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type Program, startProgram } from '../stack/program.ts';

const key = createKey();
/** A fake engine with every definition and no tasks. It rejects a malformed query, as an engine with an index does. */
const engine = createServer((request, response) => {
  const isList = /\/(?:tasks\/poll|polldata)\//.test(String(request.url)) || request.url?.endsWith('/all');
  if (request.url?.includes('query=indexed')) response.statusCode = 400;
  response.setHeader('content-type', 'application/json').end(isList ? '[]' : '{"results":[],"totalHits":0}');
});
let provider: ProviderStandIn;
let router: Program;
let enginePort: number;

beforeAll(async () => {
  provider = await startProviderStandIn();
  provider.publish(key);
  enginePort = await findFreePort();
  router = await startProgram('gateway/main.ts', {
    OAUTH_ISSUER: provider.issuer,
    OAUTH_AUDIENCE: provider.audience,
    CONDUCTOR_URL: `http://127.0.0.1:${enginePort}`,
    RECONCILER_INTERVALMS: '100',
    ROUTER_PORT: '0',
    OPS_PORT: '0',
  });
});
afterAll(async () => {
  await router?.stop();
  engine.closeAllConnections();
  engine.close();
  await provider?.stop();
});

/** Sends a worker's poll, which returns no tasks while the engine is starting, and 503 while it is unavailable. */
async function poll(): Promise<void> {
  const token = createToken(key, provider, { claims: { client_id: 'worker', scope: 'conductor_worker' } });
  const path = '/conductor/api/tasks/poll/batch/movies_intake?timeout=300';
  const { status } = await call(`${router.ready['url']}${path}`, { headers: { authorization: `Bearer ${token}` } });
  expect([200, 503]).toContain(status);
}
const lines = () =>
  router
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { level: string; msg: string; errorName?: string });
/**
 * Returns the warnings, except those about the identity provider, which runs in this process and responds late when the
 * process is busy.
 */
const warnings = () =>
  lines().filter(({ level, errorName }) => ['warn', 'error', 'fatal'].includes(level) && errorName !== 'ProviderError');
const said = () => lines().map(({ msg }) => msg);
const operationsUrl = () => String(router.ready['operationsUrl']);
const counts = async (metric: string) =>
  Object.entries(await readCounts(operationsUrl()))
    .filter(([series]) => series.startsWith(metric))
    .reduce((sum, [, value]) => sum + value, 0);

describe('a router whose engine is not up yet', () => {
  it('counts no error, logs no warning, and does not log that it is ready', async () => {
    await pollUntil('calls to the engine', async () => {
      await poll();
      return (await counts('router_engine_calls_total')) >= 5;
    });
    expect((await call(`${operationsUrl()}/health/ready`)).status).toBe(503);
    expect(await counts('router_engine_errors_total')).toBe(0);
    expect(await counts('router_reconciler_rounds_total{outcome="failed"}')).toBe(0);
    expect(warnings()).toEqual([]);
    expect(said()).toContain('started');
    expect(said()).toContain('the engine does not respond yet');
    expect(said()).not.toContain('ready');
  });

  it('logs that the engine responds, once it does', async () => {
    engine.listen(enginePort, '127.0.0.1');
    await once(engine, 'listening');
    await pollUntil('a poll that the engine responds to', async () => {
      await poll();
      return said().includes('the engine responds');
    });
    expect(warnings()).toEqual([]);
    expect(await counts('router_engine_errors_total')).toBe(0);
  });

  it('counts errors and logs a warning when the engine becomes unavailable after that', async () => {
    engine.closeAllConnections();
    engine.close();
    await pollUntil('a counted error', async () => {
      await poll();
      return (await counts('router_engine_errors_total')) > 0;
    });
    await pollUntil('a warning', () => warnings().length > 0);
  });
});
