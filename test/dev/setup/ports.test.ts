// Tests of the ports of the stack, and of the check that they are free.

import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, Server } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { productDir } from '../../lib/conductor/definitions/copy-of-product.ts';
import { findFreePort, findTakenPorts, knownPorts } from '../../../dev/setup/ports.mjs';

describe('knownPorts', () => {
  const known = (env: NodeJS.ProcessEnv) =>
    knownPorts(productDir, env).map(({ variable, port }) => `${variable}=${port}`);

  it('returns the default ports, and those that the environment sets', () => {
    expect(known({ OPS_PORT: '5', IDP_PORT: '0', BACKENDS_PORT: 'eighty' })).toEqual([
      'ROUTER_PORT=8080',
      'OPS_PORT=5',
      'CONDUCTOR_PORT=8082',
    ]);
  });

  it('leaves out programs that run elsewhere', () => {
    const env = { CONDUCTOR_URL: 'http://engine.example', OAUTH_ISSUER: 'https://login.example' };
    expect(known(env)).toEqual(['ROUTER_PORT=8080', 'OPS_PORT=8081', 'BACKENDS_PORT=8084']);
  });

  it.each([{ CONFIG_URL: 'https://config.example/x.properties' }, { PROFILE: 'mine' }])(
    'leaves out every port and address that a property file may set: %o',
    (env) => {
      expect(known({ ...env, ROUTER_PORT: '6', ROUTER_HOST: '::' })).toEqual(['ROUTER_PORT=6']);
      expect(known({ ...env, ROUTER_PORT: '6', IDP_PORT: '7' })).toEqual(['IDP_PORT=7']);
    },
  );

  it('returns the listening address that the environment sets', () => {
    const [router, operations] = knownPorts(productDir, { ROUTER_HOST: '0.0.0.0' });
    expect(router).toMatchObject({ variable: 'ROUTER_PORT', host: '0.0.0.0' });
    expect(operations).not.toHaveProperty('host');
  });
});

describe('findTakenPorts', () => {
  it('names a taken port, its use and its variable in one line', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const free = await findFreePort();
    const ports = [
      { port, variable: 'OPS_PORT', use: 'operations server' },
      { port: free, variable: 'IDP_PORT', use: 'identity provider' },
    ];
    expect(await findTakenPorts(ports)).toEqual([
      `Port ${port} (operations server) is taken: set OPS_PORT to another one.`,
    ]);
    server.close();
  });

  it('checks the address that the program will listen on', async () => {
    const server = createServer().listen(0, '127.0.0.2');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const checkOn = (host: string) => findTakenPorts([{ port, host, variable: 'ROUTER_PORT', use: 'router' }]);
    const taken = `Port ${port} (router) is taken: set ROUTER_PORT to another one.`;
    expect([await checkOn('0.0.0.0'), await checkOn('127.0.0.2'), await checkOn('127.0.0.3')]).toEqual([
      [taken],
      [taken],
      [],
    ]);
    server.close();
  });

  it('names the variable of an address that is not one of this machine', async () => {
    const [port, host] = [await findFreePort(), '192.0.2.1'];
    const router = { port, host, variable: 'ROUTER_PORT', use: 'router', hostKey: 'router.host' } as const;
    expect(await findTakenPorts([router])).toEqual([
      'The router cannot listen on 192.0.2.1 (EADDRNOTAVAIL): set ROUTER_HOST to an address of this machine.',
    ]);
  });

  it('names the error of a port that is not taken but cannot be used', async () => {
    // A process without privileges gets this error for a port below 1024. It is simulated, because the tests may run
    // with privileges.
    vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server) {
      this.emit('error', Object.assign(new Error('not permitted'), { code: 'EACCES' }));
      return this;
    });
    const taken = await findTakenPorts([{ port: 80, variable: 'ROUTER_PORT', use: 'router' }]).finally(() =>
      vi.restoreAllMocks(),
    );
    expect(taken).toEqual(['Port 80 (router) cannot be used (EACCES): set ROUTER_PORT to another one.']);
  });

  it('finds a port that is set for two programs', async () => {
    const port = await findFreePort();
    const ports = [
      { port, variable: 'ROUTER_PORT', use: 'router' },
      { port, variable: 'OPS_PORT', use: 'operations server' },
    ];
    expect(await findTakenPorts(ports)).toEqual([
      `Port ${port} is set for both router (ROUTER_PORT) and operations server (OPS_PORT).`,
    ]);
  });

  it('finds nothing when all ports are free, and leaves them free', async () => {
    const ports = [{ port: await findFreePort(), variable: 'ROUTER_PORT', use: 'router' }];
    expect(await findTakenPorts(ports)).toEqual([]);
    expect(await findTakenPorts(ports)).toEqual([]);
  });
});

describe('findFreePort', () => {
  it('returns no port twice, and none from the range of outgoing connections', async () => {
    const ports = await Promise.all(Array.from({ length: 200 }, () => findFreePort()));
    expect(new Set(ports).size).toBe(ports.length);
    expect(Math.max(...ports)).toBeLessThan(32_768);
  });

  it('reserves the port until the calling process ends', async () => {
    const program = `import { findFreePort } from './dev/setup/ports.mjs';
      process.on('message', () => undefined);
      process.send(await findFreePort());`;
    const node = ['--input-type=module', '--eval', program];
    const child = spawn(process.execPath, node, { cwd: productDir, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const [port] = (await once(child, 'message')) as [number];
    const bind = async () => {
      const socket = createSocket('udp4').bind(port, '127.0.0.1');
      await once(socket, 'listening');
      socket.close();
    };
    await expect(bind()).rejects.toThrow('EADDRINUSE');
    child.kill();
    await once(child, 'exit');
    await bind();
  });
});
