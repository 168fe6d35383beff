// Tests of several servers of one engine: a call skips a server that cannot be reached, and is never repeated if it
// may have arrived.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Engine } from '#lib/conductor/engine.ts';
import type { EngineError } from '#lib/conductor/engine-error.ts';
import { findFreePort } from '../../../dev/setup/ports.mjs';
import { makeCertificate } from '../../stack/certificate.ts';
import { pollUntil } from '../../stack/poll-until.ts';

interface FakeServer {
  readonly url: string;
  /** Received calls, except health checks. */
  readonly calls: string[];
  /** Handles calls; responds with 200 by default. */
  answer: RequestListener;
  isHealthy: boolean;
  stop(): Promise<void>;
  start(): Promise<void>;
}

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function startServer(): Promise<FakeServer> {
  const server: Server = createServer((request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/health') return void response.writeHead(fake.isHealthy ? 200 : 503).end();
    fake.calls.push(`${request.method} ${request.url}`);
    fake.answer(request, response);
  });
  const port = await findFreePort();
  const fake: FakeServer = {
    url: `http://127.0.0.1:${port}`,
    calls: [],
    answer: (_request, response) => response.end('[]'),
    isHealthy: true,
    async stop() {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
    async start() {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
  };
  await fake.start();
  cleanUps.push(fake.stop);
  return fake;
}

/** Starts two servers. The timeout is long, so that a server on a busy machine does not look unavailable. */
async function pair(timeoutMs = 60_000) {
  const servers = [await startServer(), await startServer()] as const;
  const changes: string[] = [];
  const engine = new Engine({
    url: servers.map(({ url }) => url),
    timeoutMs,
    connections: 4,
    onServerChange: (url, state) => changes.push(`${servers.findIndex((server) => server.url === url)} ${state}`),
  });
  cleanUps.push(() => engine.close());
  return { servers, engine, changes };
}

const post = (engine: Engine) => engine.request({ method: 'POST', path: '/api/workflow', body: '{}' });
const kindOf = (call: Promise<unknown>) =>
  call.then(
    () => 'answered',
    (error: EngineError) => error.kind,
  );

describe('two servers of one engine', () => {
  it('both available → round-robin', async () => {
    const { servers, engine } = await pair();
    for (let n = 0; n < 6; n++) await post(engine);
    expect(servers.map(({ calls }) => calls.length)).toEqual([3, 3]);
  });

  it('one refuses connections → the other gets every call, and no caller notices', async () => {
    const { servers, engine, changes } = await pair();
    await servers[0].stop();
    for (let n = 0; n < 6; n++) expect(await kindOf(post(engine))).toBe('answered');
    expect(servers[1].calls).toHaveLength(6);
    expect(engine.leftOut).toEqual([servers[0].url]);
    expect(changes).toEqual(['0 left out']);
  });

  it('one comes back → it gets calls again once its health check succeeds', async () => {
    const { servers, engine, changes } = await pair();
    await servers[0].stop();
    for (let n = 0; n < 2; n++) await post(engine);
    servers[0].isHealthy = false;
    await servers[0].start();
    for (let n = 0; n < 4; n++) await post(engine);
    expect(servers[0].calls).toEqual([]);
    servers[0].isHealthy = true;
    await pollUntil('the server to be used again', () => engine.leftOut.length === 0);
    for (let n = 0; n < 4; n++) await post(engine);
    expect(servers[0].calls).toHaveLength(2);
    expect(changes).toEqual(['0 left out', '0 used']);
  });

  it('one breaks the connection after the call arrived → unknown outcome, and the call is not sent again', async () => {
    const { servers, engine } = await pair();
    servers[0].answer = (request) => void request.socket.destroy();
    expect(await kindOf(post(engine))).toBe('interrupted');
    expect(servers.map(({ calls }) => calls.length)).toEqual([1, 0]);
  });

  it('one does not respond in time → unknown outcome, and it is excluded until its health check succeeds', async () => {
    const { servers, engine } = await pair(3_000);
    servers[0].answer = () => undefined;
    servers[0].isHealthy = false;
    expect(await kindOf(post(engine))).toBe('interrupted');
    for (let n = 0; n < 4; n++) expect(await kindOf(post(engine))).toBe('answered');
    expect(servers.map(({ calls }) => calls.length)).toEqual([1, 4]);
  });

  it('one does not respond by the earlier deadline of a call → it is not excluded', async () => {
    const { servers, engine } = await pair();
    servers[0].answer = () => undefined;
    expect(await kindOf(engine.startWorkflow({ name: 'moviesWF', version: 1, input: {} }, 2_000))).toBe('interrupted');
    expect(engine.leftOut).toEqual([]);
  });

  it('the caller disconnects → no server is excluded', async () => {
    const { servers, engine } = await pair();
    servers[0].answer = () => undefined;
    const leaving = new AbortController();
    const call = engine.request({ method: 'GET', path: '/api/x', signal: leaving.signal });
    await pollUntil('the call to arrive', () => servers[0].calls.length === 1);
    leaving.abort();
    expect(await kindOf(call)).toBe('interrupted');
    expect(engine.leftOut).toEqual([]);
  });

  it('both unavailable → unreachable; one comes back → the next call succeeds', async () => {
    const { servers, engine } = await pair();
    await Promise.all(servers.map((server) => server.stop()));
    for (let n = 0; n < 4; n++) expect(await kindOf(post(engine))).toBe('unreachable');
    await servers[1].start();
    expect(await kindOf(post(engine))).toBe('answered');
  });

  it('returns unreachable, and sends nothing, when no time is left for the call', async () => {
    const { servers, engine } = await pair();
    expect(await kindOf(engine.startWorkflow({ name: 'moviesWF', version: 1, input: {} }, 0.2))).toBe('unreachable');
    expect(servers.flatMap(({ calls }) => calls)).toEqual([]);
  });

  it('one responds with an error status → the response is returned, and no server is excluded', async () => {
    const { servers, engine } = await pair();
    servers[0].answer = (_request, response) => response.writeHead(500).end('{}');
    expect((await post(engine)).status).toBe(500);
    expect(engine.leftOut).toEqual([]);
  });
});

it('one server has a certificate that is not trusted → the other gets every call, and no caller notices', async () => {
  const certificate = makeCertificate();
  const untrusted = createTlsServer({ key: certificate, cert: certificate });
  await once(untrusted.listen(0, '127.0.0.1'), 'listening');
  const url = `https://127.0.0.1:${(untrusted.address() as AddressInfo).port}`;
  const other = await startServer();
  const engine = new Engine({ url: [url, other.url], timeoutMs: 60_000, connections: 1 });
  cleanUps.push(
    async () => void untrusted.close(),
    () => engine.close(),
  );
  for (let n = 0; n < 4; n++) expect(await kindOf(post(engine))).toBe('answered');
  expect(other.calls).toHaveLength(4);
  expect(engine.leftOut).toEqual([url]);
});

it('a single server is never excluded', async () => {
  const server = await startServer();
  const engine = new Engine({ url: server.url, timeoutMs: 60_000, connections: 2 });
  cleanUps.push(() => engine.close());
  await server.stop();
  expect(await kindOf(post(engine))).toBe('unreachable');
  expect(engine.leftOut).toEqual([]);
});
