// Tests of graceful shutdown of the public server: it waits for earlier requests and requests that those depend on, but
// not for other later requests.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { startHttpServer } from '../../gateway/server/http-server.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { randomOfRun } from '../run/seed.ts';

const limits = {
  maxConnections: 1_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 65_000,
  responseTimeoutMs: 30_000,
};

const random = randomOfRun();

const start = (app: (request: IncomingMessage, response: ServerResponse) => void) =>
  startHttpServer({ host: '127.0.0.1', port: 0, accessLog: () => undefined, metrics: new Registry(), limits, app });

it('responds to the worker whose report ended the wait of the last client', async () => {
  const clients: ServerResponse[] = [];
  const reports: ServerResponse[] = [];
  const server = await start((request, response) => {
    (request.url === '/report' ? reports : clients).push(response);
  });
  const client = fetch(`${server.url}/client`).then((response) => response.text());
  await pollUntil('the client to wait', () => clients.length === 1);
  const stopped = server.stop(20_000);
  const report = fetch(`${server.url}/report`).then((response) => response.text());
  await pollUntil('the report to arrive', () => reports.length === 1);
  clients[0]?.end('done');
  expect(await client).toBe('done');
  // The response to the report is written in a later iteration of the event loop.
  await nextTurn();
  reports[0]?.end('taken');
  expect(await report).toBe('taken');
  await stopped;
});

it('ends when the last earlier request has its response, even while new requests arrive', async () => {
  const slow: ServerResponse[] = [];
  let open = 0;
  const server = await start((request, response) => {
    if (request.url === '/slow') return void slow.push(response);
    open += 1;
    setTimeout(() => response.end('late'), random.between(500, 1_500));
    response.on('close', () => (open -= 1));
  });
  const waiting = fetch(`${server.url}/slow`).then((response) => response.text());
  await pollUntil('the slow request to arrive', () => slow.length === 1);
  let stopped = false;
  const drainMs = 60_000;
  const stopping = server.stop(drainMs).then(() => (stopped = true));
  // New requests are always in flight, as with many clients that have not noticed the shutdown.
  const others = Array.from({ length: 20 }).map(async () => {
    while (!stopped)
      await fetch(`${server.url}/other`).then(
        (response) => response.text(),
        () => undefined,
      );
  });
  await pollUntil('other requests to arrive', () => open > 2);
  const startedAt = performance.now();
  slow[0]?.end('answered');
  expect(await waiting).toBe('answered');
  await stopping;
  expect(performance.now() - startedAt).toBeLessThan(drainMs / 2);
  await Promise.all(others);
});
