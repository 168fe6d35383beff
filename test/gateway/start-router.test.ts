// Tests of the start of a router: a failure leaves no port open, and a file that changes meanwhile is loaded again.

import { appendFileSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Gauge, Registry } from 'prom-client';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { gatewayDir } from '#lib/config/folders.ts';
import { listenOnLoopback } from '../../dev/loopback-server.ts';
import { findFreePort, findTakenPorts } from '../../dev/setup/ports.mjs';
import { pollUntil } from '../stack/poll-until.ts';
import { startProgram } from '../stack/program.ts';
import { startLocalRouter } from './local-router.ts';

const dir = mkdtempSync(join(tmpdir(), 'service-router-start-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** Returns a message for each of these ports on which something listens. */
const takenOf = (...ports: number[]) => findTakenPorts(ports.map((port) => ({ port, variable: 'PORT', use: 'test' })));

it('closes both ports when a step after the start of the servers fails', async () => {
  const [router, operations] = [await findFreePort(), await findFreePort()];
  const metrics = new Registry();
  const name = 'router_config_snapshots';
  // The router registers this metric once its servers listen.
  new Gauge({ name, help: 'taken', registers: [metrics] });
  const started = startLocalRouter({ ROUTER_PORT: String(router), OPS_PORT: String(operations) }, metrics);
  await expect(started).rejects.toThrow(name);
  expect(await takenOf(router, operations)).toEqual([]);
});

it('leaves the public port closed when the operations port is taken', async () => {
  const router = await findFreePort();
  const taken = await listenOnLoopback(createServer());
  const { host, port } = new URL(taken.url);
  const started = startLocalRouter({ ROUTER_PORT: String(router), OPS_PORT: port });
  await expect(started).rejects.toThrow(host);
  expect(await takenOf(router)).toEqual([]);
  await taken.close();
});

it('reload.watchMs: applies a property file that changes while the router fetches a remote file', async () => {
  const local = join(dir, 'router.properties');
  writeFileSync(local, 'router.docs=true\n');
  // The router has already read the local file when it fetches the remote file.
  const remote = await listenOnLoopback(
    createServer((_request, response) => {
      writeFileSync(local, 'router.docs=false\n');
      response.end();
    }),
  );
  onTestFinished(() => remote.close());
  const program = await startProgram('gateway/main.ts', {
    ...{ OAUTH_ISSUER: 'http://127.0.0.1:9', CONDUCTOR_URL: 'http://127.0.0.1:9', RECONCILER_INTERVALMS: '0' },
    ...{ ROUTER_PORT: '0', OPS_PORT: '0', RELOAD_WATCHMS: '20' },
    CONFIG_URL: `${pathToFileURL(local).href},${remote.url}/remote.properties`,
  });
  onTestFinished(async () => void (await program.stop()));
  const docs = async () => (await fetch(`${String(program.ready['url'])}/docs`)).status;
  await pollUntil('the changed file to take effect', async () => (await docs()) === 404);
});

it('reload.watchMs: applies a gateway configuration that changes while the router starts', async () => {
  const file = join(dir, 'map.yml');
  copyFileSync(join(gatewayDir(), 'gateway.config.yml'), file);
  const metrics = new Registry();
  const register = metrics.registerMetric.bind(metrics);
  metrics.registerMetric = (metric) => {
    // The router registers this metric once it has built its first pipelines.
    if (Reflect.get(metric, 'name') === 'router_config_snapshots') appendFileSync(file, '# changed\n');
    register(metric);
  };
  const env = { ROUTER_GATEWAYCONFIGFILE: file, RELOAD_WATCHMS: '20', LOG_LEVEL: 'silent' };
  const router = await startLocalRouter(env, metrics);
  onTestFinished(() => router.stop());
  const applied = async () => (await metrics.metrics()).includes('router_config_reloads_total{result="applied"} 1');
  await pollUntil('the changed file to be applied', applied);
});
