// Tests that a router in production does not start when other machines can reach its engine. The check resolves the
// engine's host name and opens real connections.

import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findOpenEngine } from '../../gateway/open-engine.ts';
import { ProgramFailed, startProgram } from '../stack/program.ts';

// All of 127.0.0.0/8 is this machine: 127.0.0.2 stands for the address that other machines use.
const seenByOthers = '127.0.0.2';
const listenOn = async (host: string) => {
  const server = createServer((_request, response) => void response.end()).listen(0, host);
  await once(server, 'listening');
  return server;
};
const portOf = (server: Server) => (server.address() as AddressInfo).port;
let closed: Server;
let open: Server;

beforeAll(async () => {
  closed = await listenOn('127.0.0.1');
  open = await listenOn('0.0.0.0');
});
afterAll(() => {
  closed.close();
  open.close();
});

it('an engine that listens on the loopback address only → no problem', async () => {
  const url = `http://127.0.0.1:${portOf(closed)}`;
  expect(await findOpenEngine({ url, ownAddresses: [seenByOthers] })).toEqual([]);
});

it('an engine that listens on every address, with a loopback URL → a problem', async () => {
  const url = `http://127.0.0.1:${portOf(open)}`;
  expect(await findOpenEngine({ url, ownAddresses: [seenByOthers] })).toEqual([
    expect.stringContaining(`listens on ${seenByOthers} as well`),
  ]);
});

it('a name that resolves to a public address → a problem; to a private address or none → no problem', async () => {
  const look = (addresses: string[]) =>
    findOpenEngine({ url: 'http://engine.example.org', resolve: async () => addresses, ownAddresses: [] });
  expect(await look(['10.0.0.1', '203.0.113.7'])).toEqual([expect.stringContaining('203.0.113.7')]);
  expect(await look(['10.0.0.1'])).toEqual([]);
  const url = 'http://router:hidden@engine.example.org';
  expect(await findOpenEngine({ url, resolve: async () => ['203.0.113.7'], ownAddresses: [] })).toEqual([
    'conductor.url is http://********@engine.example.org: engine.example.org has the public address 203.0.113.7, but the engine has no authentication, so its address must be private',
  ]);
  const unknown = () => Promise.reject(new Error('ENOTFOUND'));
  expect(await findOpenEngine({ url: 'http://engine.example.org', resolve: unknown, ownAddresses: [] })).toEqual([]);
});

it('the router process lists every problem, without secrets, and exits with 1', async () => {
  const failure = await startProgram('gateway/main.ts', {
    NODE_ENV: 'production',
    OAUTH_ISSUER: 'http://127.0.0.1:9',
    CONDUCTOR_URL: 'http://0.0.0.0:9',
    OAUTH_INTROSPECTIONCLIENTSECRET: 'introspector-secret',
    ROUTER_PORT: '0',
    OPS_PORT: '0',
  }).then(
    async (router) => {
      await router.stop();
      throw new Error('it started');
    },
    (error: unknown) => error as ProgramFailed,
  );
  expect(failure).toBeInstanceOf(ProgramFailed);
  expect(failure.exitCode).toBe(1);
  for (const part of ['oauth.issuer is http:', 'conductor.url is http://0.0.0.0:9', 'introspectionClientSecret is the'])
    expect(failure.output).toContain(part);
  expect(failure.output).not.toContain('introspector-secret');
});
