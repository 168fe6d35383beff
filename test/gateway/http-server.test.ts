// Tests of the limits of the public server: unread responses, numbers of connections, and broken or oversized bodies.

import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Registry } from 'prom-client';
import { createAccessLog } from '../../gateway/server/access-log.ts';
import { Connections } from '../../gateway/server/connections.ts';
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
/** Response to the last request for /held; the tests end it. */
let held: ServerResponse | undefined;
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
      if (request.url === '/held') return void (held = response);
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
  held = undefined;
});
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  await server.stop(100);
});

function open(text = '', url = server.url): RawConnection {
  const connection = new RawConnection(url);
  connections.push(connection);
  if (text !== '') connection.send(text);
  return connection;
}

/** Opens a connection that the client keeps open after the server has ended it. */
function openIgnoringEnd(text = '', url = server.url): RawConnection {
  const connection = open(text, url);
  connection.socket.allowHalfOpen = true;
  return connection;
}

const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

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
  it('beyond the limit of one address are rejected, and existing connections stay open', async () => {
    // Longer than a busy machine needs to open the connections, so that none is closed for sending nothing.
    await start({ headersTimeoutMs: 20_000, requestTimeoutMs: 20_000 });
    const crowd = Array.from({ length: 10 }, () => open());
    await pollUntil('all connections to be open', () => crowd.every(({ socket }) => socket.readyState === 'open'));
    const answer = await open().answer();
    expect([answer.status, codeOf(answer)]).toEqual([503, 'too-many-connections']);
    crowd[0]?.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await crowd[0]?.answer())?.status).toBe(200);
  });

  it('beyond the limit of all addresses → the connection that has been idle for longest is closed', async () => {
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

describe('connections that the server has ended', () => {
  it('do not count towards the limit while their clients keep them open', async () => {
    await start({
      maxConnections: 3,
      maxConnectionsPerAddress: 100,
      headersTimeoutMs: 20_000,
      requestTimeoutMs: 20_000,
    });
    const idle = [open(get), open(get)];
    for (const connection of idle) await connection.answer();
    for (let count = 0; count < 5; count++) expect((await openIgnoringEnd('noise\r\n\r\n').answer()).status).toBe(400);
    for (const connection of idle) connection.send(get);
    for (const connection of idle) expect((await connection.answer()).status).toBe(200);
    expect(await closedFor('evicted')).toBe(0);
  });

  it('are destroyed beyond 200, the oldest first', async () => {
    await start();
    // The test does not start the timer that would destroy these connections a second after they ended.
    const ended = new Connections(limits, new Registry(), () => false);
    const accepted: Socket[] = [];
    const listener = createServer({ allowHalfOpen: true }, (socket) => {
      ended.add(socket);
      ended.linger(socket);
      accepted.push(socket);
    });
    listener.listen(0, '127.0.0.1');
    await new Promise((resolve) => listener.once('listening', resolve));
    const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
    for (let count = 0; count < 201; count++) openIgnoringEnd('', url);
    await pollUntil('all connections to be accepted', () => accepted.length === 201);
    expect(accepted.flatMap(({ destroyed }, index) => (destroyed ? index : []))).toEqual([0]);
    listener.close();
    ended.cutAll();
  });
});

describe('pipelined requests', () => {
  // Longer than a busy machine needs, so that no timeout closes the connection.
  const patient = { headersTimeoutMs: 20_000, requestTimeoutMs: 20_000 };
  const first = 'GET /held HTTP/1.1\r\nHost: a\r\n\r\n';

  it('beyond the queue are rejected after the queued ones have got their responses', async () => {
    await start(patient);
    const connection = open(first + get.repeat(16 + 1 + 8));
    await pollUntil('the first request to arrive', () => held);
    held?.writeHead(200, { 'content-length': 0 }).end();
    for (let count = 0; count < 17; count++) expect((await connection.answer()).status).toBe(200);
    expect(codeOf(await connection.answer())).toBe('too-many-requests');
    await connection.end();
  });

  it('that never stop: the connection is closed while the first request is in progress', async () => {
    await start(patient);
    await open(first + get.repeat(16 + 1 + 9)).end(5_000);
    await pollUntil('the first request to be abandoned', () => gone === 1);
    expect(await closedFor('too-many-requests')).toBe(1);
  });

  it('that never stop, in several chunks on many connections: each connection is closed and counted once', async () => {
    await start({ ...patient, maxConnections: 100, maxConnectionsPerAddress: 100 });
    const flood = Array.from({ length: 20 }, () => open(first + get.repeat(3_000)));
    for (const connection of flood) await connection.end();
    await pollUntil('the first requests to be abandoned', () => gone === 20);
    expect(await closedFor('too-many-requests')).toBe(20);
  });

  it('that are processed at once get their responses before the connection is closed', async () => {
    await start(patient);
    const connection = open(get.repeat(300));
    for (let count = 0; count < 17; count++) expect((await connection.answer()).status).toBe(200);
    expect(codeOf(await connection.answer())).toBe('too-many-requests');
    await connection.end();
    expect(await closedFor('too-many-requests')).toBe(1);
  });

  it('behind a request whose response closes the connection: the response is sent', async () => {
    await start(patient);
    const connection = open(`GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n${get.repeat(300)}`);
    expect((await connection.answer()).status).toBe(400);
    await connection.end();
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

  it('the connection whose request body has been arriving for longest is closed', async () => {
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

  it('and all bodies have arrived, the next connection is rejected', async () => {
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

it('the error for a taken port names the address and the port', async () => {
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
