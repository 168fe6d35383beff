// Tests of the open loop: it keeps its rate when responses are slow, and counts responses by status.

import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { loadFiguresOf } from '../../../bench/measure/load-figures.ts';
import { type LoadOptions, runLoad } from '../../../bench/measure/open-loop.ts';

const stops: (() => void)[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

async function load(listener: RequestListener, options: Partial<LoadOptions> & Pick<LoadOptions, 'arrival'>) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const host = '127.0.0.1';
  const { port } = server.address() as AddressInfo;
  const bytes = Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const requests = [{ name: 'read', bytes }];
  return loadFiguresOf(await runLoad({ host, port, requests, seconds: 0.2, patienceMs: 50, ...options }));
}

describe('an open loop', () => {
  it('sends all due requests even though none gets a response', async () => {
    const figures = await load(() => undefined, { arrival: { perSecond: 500 } });
    expect(figures).toMatchObject({ unanswered: 100, goodput: 0, offeredPerSecond: 500 });
  });

  it('distinguishes served, rejected and other responses', async () => {
    let count = 0;
    const figures = await load(
      (request, response) => {
        count += 1;
        if (count % 4 === 0) response.writeHead(503, { 'retry-after': '1', 'content-length': 2 }).end('no');
        else if (count % 4 === 1) response.writeHead(503, { 'content-length': 2 }).end('no');
        else if (count % 4 === 2) request.socket.destroy();
        else response.writeHead(200, { 'content-length': 3 }).end('yes');
      },
      { arrival: { perSecond: 500 }, patienceMs: 5_000 },
    );
    expect(figures.served.count).toBe(25);
    expect(figures.refused.count).toBe(25);
    expect(figures.others).toEqual({ 0: 25, 503: 25 });
    expect(figures.unanswered).toBe(0);
  });

  it('measures latency from the time at which the request was due', async () => {
    const figures = await load((_request, response) => response.writeHead(200, { 'content-length': 0 }).end(), {
      arrival: { perSecond: 100 },
      patienceMs: 5_000,
    });
    expect(figures.served.max).toBeGreaterThanOrEqual(figures.senderLatestMs);
  });
});

it('a closed loop has as many requests in flight as it has clients', async () => {
  let now = 0;
  let most = 0;
  const figures = await load(
    (_request, response) => {
      most = Math.max(most, ++now);
      setTimeout(() => {
        now -= 1;
        response.writeHead(200, { 'content-length': 0 }).end();
      }, 5);
    },
    { arrival: { inFlight: 7 }, patienceMs: 5_000 },
  );
  expect(most).toBe(7);
  expect(figures.unanswered).toBe(0);
});
