import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { findFreePort, findTakenPorts } from '../../../dev/stack/ports.ts';

describe('findTakenPorts', () => {
  it('names a taken port, its use and its variable in one line', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const free = await findFreePort();
    const ports = [
      { port, variable: 'OPS_PORT', use: 'operations' },
      { port: free, variable: 'IDP_PORT', use: 'identity provider' },
    ];
    expect(await findTakenPorts(ports)).toEqual([`Port ${port} (operations) is taken: set OPS_PORT to another one.`]);
    server.close();
  });

  it('finds a port that two programs are to have', async () => {
    const port = await findFreePort();
    const ports = [
      { port, variable: 'ROUTER_PORT', use: 'router' },
      { port, variable: 'OPS_PORT', use: 'operations' },
    ];
    expect(await findTakenPorts(ports)).toEqual([
      `Port ${port} is set for both router (ROUTER_PORT) and operations (OPS_PORT).`,
    ]);
  });

  it('finds nothing when all are free, and leaves them free', async () => {
    const ports = [{ port: await findFreePort(), variable: 'ROUTER_PORT', use: 'router' }];
    expect(await findTakenPorts(ports)).toEqual([]);
    expect(await findTakenPorts(ports)).toEqual([]);
  });
});
