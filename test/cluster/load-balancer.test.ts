// The load balancer repeats nothing that may have arrived, and loses nothing that did not.

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { call } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type LoadBalancer, startLoadBalancer } from './load-balancer.ts';

interface FakeRouter {
  readonly server: Server;
  readonly port: number;
  readonly arrived: string[];
  answer: RequestListener;
  isReady: boolean;
  stop(): Promise<void>;
}

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function startRouter(name: string): Promise<FakeRouter> {
  const server = createServer((request, response) => {
    if (request.url === '/health/ready') return void response.writeHead(router.isReady ? 200 : 503).end();
    router.arrived.push(String(request.headers['x-request-id']));
    router.answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const router: FakeRouter = {
    server,
    port: (server.address() as AddressInfo).port,
    arrived: [],
    answer: (_request, response) => response.end(name),
    isReady: true,
    async stop() {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  cleanUps.push(router.stop);
  return router;
}

async function start(): Promise<{ routers: [FakeRouter, FakeRouter]; balancer: LoadBalancer }> {
  const routers: [FakeRouter, FakeRouter] = [await startRouter('one'), await startRouter('two')];
  const balancer = await startLoadBalancer(
    routers.map(({ port }, index) => ({
      name: `router ${index + 1}`,
      url: `http://127.0.0.1:${port}`,
      readyUrl: `http://127.0.0.1:${port}/health/ready`,
    })),
  );
  cleanUps.push(() => balancer.stop());
  return { routers, balancer };
}

const send = (url: string, id: string, body?: string) =>
  call(`${url}/x`, {
    method: body === undefined ? 'GET' : 'PATCH',
    headers: { 'x-request-id': id },
    ...(body === undefined ? {} : { body }),
  });

it('both well → round-robin, with method, body and headers as they came', async () => {
  const { routers, balancer } = await start();
  routers[0].answer = (request, response) => void request.pipe(response);
  const answers = [await send(balancer.url, 'a', 'body'), await send(balancer.url, 'b', 'body')];
  expect(answers.map(({ text }) => text).toSorted()).toEqual(['body', 'two']);
  expect(routers.map(({ arrived }) => arrived.length)).toEqual([1, 1]);
});

it('one refuses connections → the other serves every request', async () => {
  const { routers, balancer } = await start();
  await routers[0].stop();
  for (let n = 0; n < 4; n++) expect((await send(balancer.url, `r${n}`, '{}')).text).toBe('two');
  expect(balancer.broken).toEqual([]);
});

it('one breaks the connection after the request arrived → closed, written down, and not repeated', async () => {
  const { routers, balancer } = await start();
  for (const router of routers) router.answer = (request) => void request.socket.destroy();
  await expect(send(balancer.url, 'broken', '{}')).rejects.toThrow();
  expect(routers.flatMap(({ arrived }) => arrived)).toEqual(['broken']);
  expect(balancer.broken).toEqual([expect.objectContaining({ requestId: 'broken' })]);
});

it('one breaks off in the middle of its response → closed, and written down', async () => {
  const { routers, balancer } = await start();
  for (const router of routers)
    router.answer = (request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('half', () => request.socket.destroy());
    };
  await expect(send(balancer.url, 'half')).rejects.toThrow();
  expect(balancer.broken).toHaveLength(1);
});

it('one says that it is not ready → it gets no more; when none is ready, both do', async () => {
  const { routers, balancer } = await start();
  routers[0].isReady = false;
  await pollUntil('the health check', async () => {
    const texts = [await send(balancer.url, 'x'), await send(balancer.url, 'x')].map(({ text }) => text);
    return texts.every((text) => text === 'two');
  });
  routers[1].isReady = false;
  await pollUntil('both to get requests', async () => (await send(balancer.url, 'y')).text === 'one');
});

it('none can be reached → 503 as a problem', async () => {
  const { routers, balancer } = await start();
  await Promise.all(routers.map((router) => router.stop()));
  const answer = await send(balancer.url, 'z');
  expect(answer.status).toBe(503);
  expect(answer.json()).toMatchObject({ type: '/problems/no-router' });
});

it('the client leaves → the router learns of it, and nobody is to blame', async () => {
  const { routers, balancer } = await start();
  const left: boolean[] = [];
  for (const router of routers)
    router.answer = (_request, response) => void response.on('close', () => left.push(true));
  const leaving = new AbortController();
  const gone = call(`${balancer.url}/x`, { signal: leaving.signal }).catch(() => 'gone');
  await pollUntil('the request to arrive', () => routers.some(({ arrived }) => arrived.length === 1));
  leaving.abort();
  expect(await gone).toBe('gone');
  await pollUntil('the router to learn of it', () => left.length === 1);
  expect(balancer.broken).toEqual([]);
});
