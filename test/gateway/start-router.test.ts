// Tests of a router that fails to start: it leaves nothing open.

import { createServer } from 'node:http';
import { Gauge, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { listenOnLoopback } from '../../dev/loopback-server.ts';
import { findFreePort, findTakenPorts } from '../../dev/setup/ports.mjs';
import { startLocalRouter } from './local-router.ts';

/** Returns the ports on which something listens. */
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
