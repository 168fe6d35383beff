// Tests of the graceful shutdown of the public server: it waits for earlier requests and for later requests on which
// they depend, but not for other later requests, and logs the requests that it cuts off.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { describe, expect, it, vi } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { contextOf } from '../../gateway/plugin-api/request-context.ts';
import { type AccessLog, createAccessLog } from '../../gateway/server/access-log.ts';
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

const start = (
  app: (request: IncomingMessage, response: ServerResponse) => void,
  accessLog: AccessLog = () => undefined,
) => startHttpServer({ host: '127.0.0.1', port: 0, accessLog, metrics: new Registry(), limits, app });

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

describe('the access log of a request without a complete response', () => {
  /** Starts a server whose responses never end. The path of a request is its route. */
  async function startHeld() {
    const log = createLog('test', 'silent');
    const logged: unknown[] = [];
    for (const level of ['debug', 'info', 'warn'] as const)
      vi.spyOn(log, level).mockImplementation((fields: unknown, message?: string) => {
        const { route, status, reason } = fields as Record<string, unknown>;
        logged.push({ level, route, status, reason, message });
      });
    const metrics = new Registry();
    const kindOf = (route: string) => (route === 'polls' ? 'workers' : 'clients');
    const arrived: string[] = [];
    const hold = (request: IncomingMessage) => {
      contextOf(request).route = String(request.url).slice(1);
      arrived.push(String(request.url));
    };
    const server = await start(hold, createAccessLog(log, metrics, { kindOf }));
    const statuses = async () => {
      const found = await metrics.getSingleMetric('router_http_requests_total')?.get();
      return found?.values.map(({ labels }) => labels['status']).toSorted();
    };
    const send = async (path: string, signal?: AbortSignal) => {
      const response = fetch(`${server.url}${path}`, signal === undefined ? {} : { signal }).catch(() => 'cut');
      await pollUntil(`${path} to arrive`, () => arrived.includes(path));
      return { response };
    };
    return { server, logged, statuses, send };
  }

  it('the router shuts down → 504 with the reason; for workers, at level debug', async () => {
    const { server, logged, statuses, send } = await startHeld();
    const held = [await send('/movies'), await send('/polls')];
    await server.stop(50);
    expect(await Promise.all(held.map(({ response }) => response))).toEqual(['cut', 'cut']);
    const reason = 'shutting-down: the router closed the connection before the response was complete';
    const cut = { status: 504, reason, message: 'response cut off' };
    await pollUntil('the log lines', () => logged.length === 2);
    const lines = [
      { ...cut, level: 'warn', route: 'movies' },
      { ...cut, level: 'debug', route: 'polls' },
    ];
    expect(logged).toEqual(expect.arrayContaining(lines));
    expect(await statuses()).toEqual([504, 504]);
  });

  it('its client disconnects during the drain → 499', async () => {
    const { server, logged, statuses, send } = await startHeld();
    const client = new AbortController();
    const { response } = await send('/movies', client.signal);
    const stopped = server.stop(60_000);
    client.abort();
    await response;
    await stopped;
    expect(logged).toEqual([
      { level: 'info', route: 'movies', status: 499, reason: undefined, message: 'client gone' },
    ]);
    expect(await statuses()).toEqual([499]);
  });
});
