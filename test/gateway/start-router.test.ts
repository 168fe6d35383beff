// A router that fails to start: nothing that it opened stays open.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Gauge, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { startLocalRouter } from './local-router.ts';

/** Binds a port, and releases it. @throws Error EADDRINUSE */
async function bind(port: number): Promise<void> {
  const server = createServer().listen({ host: '127.0.0.1', port });
  await once(server, 'listening');
  await once(server.close(), 'close');
}

it('closes both ports when a step after the start of the servers fails', async () => {
  const [router, operations] = [await findFreePort(), await findFreePort()];
  const metrics = new Registry();
  const name = 'router_config_snapshots';
  // The router registers this metric once its servers listen.
  new Gauge({ name, help: 'taken', registers: [metrics] });
  const started = startLocalRouter({ ROUTER_PORT: String(router), OPS_PORT: String(operations) }, metrics);
  await expect(started).rejects.toThrow(name);
  await bind(router);
  await bind(operations);
});

it('leaves the public port closed when the operations port is taken', async () => {
  const router = await findFreePort();
  const taken = createServer().listen({ host: '127.0.0.1', port: 0 });
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const started = startLocalRouter({ ROUTER_PORT: String(router), OPS_PORT: String(port) });
  await expect(started).rejects.toThrow(`127.0.0.1:${port}`);
  await bind(router);
  await once(taken.close(), 'close');
});
