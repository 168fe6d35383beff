// Tests of the limits of the public server: responses that clients do not read, connections per address, broken bodies.

import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Registry } from 'prom-client';
import { createAccessLog } from '../../gateway/server/access-log.ts';
import { type HttpServer, type ServerLimits, startHttpServer } from '../../gateway/server/http-server.ts';
import { readBody } from '../../gateway/plugin-api/read-body.ts';
import { sendProblem } from '#lib/problem/send-problem.ts';
import type { Problem } from '#lib/problem/problem.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { codeOf } from '../wire/play-case.ts';
import { RawConnection } from '../wire/raw-client.ts';

let server: HttpServer;
let metrics: Registry;
let gone = 0;
const connections: RawConnection[] = [];

const limits: ServerLimits = {
  maxConnections: 20,
  maxConnectionsPerAddress: 10,
  headersTimeoutMs: 500,
  requestTimeoutMs: 1_000,
  keepAliveTimeoutMs: 5_000,
  responseTimeoutMs: 400,
};

async function start(changed: Partial<ServerLimits> = {}): Promise<void> {
  metrics = new Registry();
  server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    metrics,
    limits: { ...limits, ...changed },
    accessLog: createAccessLog(createLog('test', 'silent'), metrics),
    app: (request, response) => {
      response.once('close', () => (gone += response.writableFinished ? 0 : 1));
      if (request.url === '/held') return;
      // Larger than the kernel's buffers, so that the response waits for a client that does not read.
      if (request.url === '/large') return void response.end(Buffer.alloc(134_217_728));
      readBody(request, 1_000).then(
        (body) => response.writeHead(200, { 'content-length': body.length }).end(body),
        (problem: Problem) => sendProblem(response, problem, { requestId: 'test' }),
      );
    },
  });
}

beforeEach(() => {
  gone = 0;
});
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  await server.stop(100);
});

function open(text = ''): RawConnection {
  const connection = new RawConnection(server.url);
  connections.push(connection);
  if (text !== '') connection.send(text);
  return connection;
}

const closedFor = async (reason: string) => {
  const found = await metrics.getSingleMetric('router_connections_closed_total')?.get();
  return found?.values.find(({ labels }) => labels['reason'] === reason)?.value ?? 0;
};

describe('a response that the client does not read', () => {
  it('is abandoned after responseTimeoutMs, and the connection is closed', async () => {
    await start();
    const reader = open();
    reader.socket.pause();
    reader.send('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
    await pollUntil('the response to be abandoned', () => gone === 1);
    expect(await closedFor('answer-not-read')).toBe(1);
  });
});

describe('connections', () => {
  it('beyond the limit of one address are refused, and existing ones stay open', async () => {
    // Longer than a busy machine needs to open the connections, so that none is closed for sending nothing.
    await start({ headersTimeoutMs: 20_000, requestTimeoutMs: 20_000 });
    const crowd = Array.from({ length: 10 }, () => open());
    await pollUntil('all connections to be open', () => crowd.every(({ socket }) => socket.readyState === 'open'));
    const answer = await open().answer();
    expect([answer.status, codeOf(answer)]).toEqual([503, 'too-many-connections']);
    crowd[0]?.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await crowd[0]?.answer())?.status).toBe(200);
  });

  it('beyond the limit of all addresses: the connection that has been idle for longest is closed', async () => {
    await start({
      maxConnections: 3,
      maxConnectionsPerAddress: 100,
      headersTimeoutMs: 20_000,
      requestTimeoutMs: 20_000,
    });
    const first = open('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await first.answer();
    const second = open('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await second.answer();
    const third = open('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await third.answer();
    first.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await first.answer();
    const fourth = open('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await fourth.answer()).status).toBe(200);
    await second.end();
    expect([first.ended, third.ended]).toEqual([false, false]);
    expect(await closedFor('evicted')).toBe(1);
  });
});

describe('when every connection has a request', () => {
  const crowded = {
    maxConnections: 3,
    maxConnectionsPerAddress: 100,
    headersTimeoutMs: 20_000,
    requestTimeoutMs: 20_000,
  };
  const inFlight = (count: number) =>
    pollUntil('the requests to arrive', async () => {
      const gauge = await metrics.getSingleMetric('router_http_requests_in_flight')?.get();
      return gauge?.values[0]?.value === count;
    });

  it('the connection of the request whose body has been arriving for longest is closed', async () => {
    await start(crowded);
    const held = open('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
    const slow = open('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nh');
    open('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
    await inFlight(3);
    expect((await open('GET / HTTP/1.1\r\nHost: a\r\n\r\n').answer()).status).toBe(200);
    await slow.end();
    expect(held.ended).toBe(false);
  });

  it('a new connection that has not sent its request yet is not the first to be closed', async () => {
    await start(crowded);
    const slow = ['1', '2'].map(() => open('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nh'));
    await inFlight(2);
    const silent = open();
    await pollUntil('the new connection to be open', () => silent.socket.readyState === 'open');
    expect((await open('GET / HTTP/1.1\r\nHost: a\r\n\r\n').answer()).status).toBe(200);
    await slow[0]?.end();
    expect([silent.ended, slow[1]?.ended]).toEqual([false, false]);
  });

  it('and all bodies have arrived: the next connection is refused', async () => {
    await start(crowded);
    for (let count = 0; count < 3; count++) open('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
    await inFlight(3);
    const answer = await open().answer();
    expect([answer.status, codeOf(answer), answer.headers['retry-after']]).toEqual([503, 'too-many-connections', '1']);
  });
});

describe('a body', () => {
  it('with broken framing → 400, and the connection is closed', async () => {
    await start();
    const connection = open('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX');
    expect((await connection.answer()).status).toBe(400);
    await connection.end();
  });

  it('too large, while the client keeps sending: the response is sent before the connection is closed', async () => {
    await start();
    const connection = open(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n${'x'.repeat(5_000_000)}`);
    const answer = await connection.answer();
    expect([answer.status, codeOf(answer)]).toEqual([413, 'body-too-large']);
    await connection.end();
  });
});

it('the error for a port that is taken names the address and the port', async () => {
  await start();
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  const again = startHttpServer({
    host: '127.0.0.1',
    port,
    metrics: new Registry(),
    limits,
    accessLog: () => undefined,
    app: () => undefined,
  });
  await expect(again).rejects.toThrow(`127.0.0.1:${port}`);
  taken.close();
});
