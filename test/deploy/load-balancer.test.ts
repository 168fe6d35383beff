// Tests of the load balancer's configuration on a real HAProxy: routers that are unavailable, slow or draining, or
// that break connections.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '#lib/config/load.ts';
import { startOperationsServer } from '../../gateway/operations/operations-server.ts';
import { RouterReadiness } from '../../gateway/operations/readiness.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { compose, networksOf, textOf } from './deployment-files.ts';
import { type LoadBalancer, type RouterPorts, startLoadBalancer } from './haproxy.ts';
import { requires } from '../run/requirements.ts';

const file = textOf('deploy/load-balancer/haproxy.cfg');
const setting = (name: string) => new RegExp(`^ *${name} +(.+)$`, 'm').exec(file)?.[1];
const { config } = await loadConfig({ env: {} });

/** Returns a setting such as `75s` in milliseconds. */
function millisecondsOf(name: string): number {
  const [, number, unit] = /^(\d+)(ms|s)$/.exec(setting(name) ?? '') ?? [];
  return Number(number) * (unit === 's' ? 1_000 : 1);
}

describe('haproxy.cfg', () => {
  it('uses the health response to tell a live router from a router that is shutting down', async () => {
    const [, expected = ''] = /httpchk GET \/health\/live\n.*\n *http-check expect string '(.+)'$/m.exec(file) ?? [];
    const readiness = new RouterReadiness(
      () => [],
      () => undefined,
    );
    const listener = { host: '127.0.0.1', port: 0, hosts: [], keys: 'ops.port' };
    const server = await startOperationsServer({ ...listener, readiness, log: console });
    const health = async () => {
      const response = await fetch(`${server.url}/health/live`);
      return { status: response.status, isExpected: (await response.text()).includes(expected) };
    };
    expect(await health()).toEqual({ status: 200, isExpected: true });
    await readiness.drain();
    expect(await health()).toEqual({ status: 200, isExpected: false });
    await server.stop();
  });

  it('only requests that could not be sent at all are retried', () => {
    expect([...file.matchAll(/^ *retry-on (.+)$/gm)].map(([, when]) => when)).toEqual(['conn-failure']);
    expect(file).not.toMatch(/disable-l7-retry|all-retryable-errors|on-marked-down shutdown/);
  });

  it('the load balancer waits longer than any client may wait or any poll may be held', () => {
    const longest = ['router.maxWaitMs', 'router.responseDeadlineMs', 'conductor.maxHeldPollMs'] as const;
    for (const key of longest) expect([key, millisecondsOf('timeout server') > config[key]]).toEqual([key, true]);
  });

  it('the router times out first on headers, bodies and responses, so that the client gets a problem document', () => {
    expect(millisecondsOf('timeout http-request')).toBeGreaterThan(config['router.headersTimeoutMs']);
    expect(millisecondsOf('timeout client')).toBeGreaterThan(config['router.requestTimeoutMs']);
    expect(millisecondsOf('timeout client')).toBeGreaterThan(config['router.responseSendTimeoutMs']);
  });

  it('each server is a service on a network of the load balancer, with the port of that service', () => {
    const servers = [...file.matchAll(/^ *server ([\w-]+) ([\w-]+):(\d+)/gm)];
    expect(servers).toHaveLength(7);
    for (const [, name = '', host = '', port] of servers) {
      expect(host).toBe(name.startsWith('router-') ? `front-${name}` : name);
      expect(networksOf(name).some((network) => networksOf('load-balancer').includes(network))).toBe(true);
      expect(Number(port)).toBe(host === 'keycloak' ? 8080 : config['router.port']);
    }
    for (const [, port] of file.matchAll(/check port (\d+)/g)) expect(Number(port)).toBe(config['ops.port']);
  });

  it('the ports that the load balancer opens are those that are published, checked and scraped', () => {
    const open = new Set([...file.matchAll(/bind :(\d+)/g)].map(([, port]) => port));
    const { ports = [], healthcheck } = compose.services['load-balancer'] ?? {};
    const published = ports.map((port) => port.split(':').at(-1));
    expect(published).toEqual(['8080', '8083']);
    expect([...open]).toEqual(expect.arrayContaining([...published, '8404']));
    expect(JSON.stringify(healthcheck)).toContain(`http://127.0.0.1:8404${setting('monitor-uri')}`);
  });

  it('a stopping router accepts requests until the load balancer has noticed that it is stopping', () => {
    const delay = Number(compose.services['router-a']?.environment?.['ROUTER_SHUTDOWNDELAYMS']);
    const [, inter, fall] = /inter (\d+)s fall (\d+)/.exec(file) ?? [];
    // One more interval, because a check may just have begun when the router stops.
    expect(delay).toBeGreaterThan(Number(inter) * 1_000 * (Number(fall) + 1));
  });
});

/** A fake router. `answer` handles requests; `ready`, `live` and `draining` determine its health responses. */
class RouterStub {
  readonly got: { method: string; url: string; headers: IncomingMessage['headers'] }[] = [];
  ready = true;
  live = true;
  draining = false;
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => void response.end();
  readonly #servers: Server[] = [];

  async start(): Promise<RouterPorts> {
    const serve = createServer((request, response) => {
      this.got.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
      this.answer(request, response);
    });
    const health = createServer((request, response) => {
      const well = request.url === '/health/ready' ? this.ready : request.url === '/health/live' && this.live;
      response.writeHead(well ? 200 : 503).end(JSON.stringify({ status: this.draining ? 'shutting down' : 'live' }));
    });
    const [port, opsPort] = await Promise.all([this.#listen(serve), this.#listen(health)]);
    return { port: port as number, opsPort: opsPort as number };
  }

  async #listen(server: Server): Promise<number> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#servers.push(server);
    return (server.address() as AddressInfo).port;
  }

  /** Stops accepting connections on its public port; its health check still responds. */
  async refuseConnections(): Promise<void> {
    const [serve] = this.#servers;
    serve?.closeAllConnections();
    await new Promise((resolve) => serve?.close(resolve));
  }

  stop(): void {
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
  }
}

describe('HAProxy with haproxy.cfg', requires('haproxy'), () => {
  let a: RouterStub;
  let b: RouterStub;
  let balancer: LoadBalancer;
  const both = ['router-a', 'router-b'];
  const seen = () => [...a.got, ...b.got];
  const serving = (names: readonly string[]) =>
    pollUntil(`${names.join(' and ') || 'no router'} to serve`, async () => {
      return String(await balancer.serving()) === String(names);
    });

  beforeAll(async () => {
    [a, b] = [new RouterStub(), new RouterStub()];
    balancer = await startLoadBalancer([await a.start(), await b.start()]);
    await serving(both);
  });
  afterAll(async () => {
    await balancer.stop();
    a.stop();
    b.stop();
  });
  beforeEach(async () => {
    for (const stub of [a, b]) {
      stub.got.length = 0;
      stub.ready = stub.live = true;
      stub.draining = false;
      stub.answer = (_request, response) => void response.end();
    }
    await serving(both);
  });
  const breakOff = (request: IncomingMessage) => void request.resume().on('end', () => request.socket.destroy());

  const methods = ['PATCH', 'POST', 'PUT', 'DELETE', 'GET'];
  it.each(methods)('%s aborted by a router → 502 and no retry', requires('haproxy-3'), async (method) => {
    // The tested request must not be the first request on its connection: when the first request fails, HAProxy only
    // closes the connection.
    await (await fetch(balancer.url)).text();
    a.got.length = b.got.length = 0;
    a.answer = b.answer = breakOff;
    const answer = await fetch(balancer.url, { method, ...(method === 'GET' ? {} : { body: 'x' }) });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([502, 'application/problem+json']);
    expect(await answer.json()).toMatchObject({ status: 502, detail: expect.stringContaining('unknown') });
    expect(seen()).toHaveLength(1);
  });

  it('a 503 from a router → passed on unchanged, and the request is not sent elsewhere', async () => {
    a.answer = b.answer = (_request, response) => void response.writeHead(503, { 'retry-after': '7' }).end('mine');
    const answer = await fetch(balancer.url, { method: 'PATCH', body: 'x' });
    expect([answer.status, answer.headers.get('retry-after'), await answer.text()]).toEqual([503, '7', 'mine']);
    expect(seen()).toHaveLength(1);
  });

  it('a client’s X-Forwarded-For is kept, and the address of the connection is appended', async () => {
    await fetch(`${balancer.url}/movies/a%20b?c=%2F`, { headers: { 'x-forwarded-for': '203.0.113.9' } });
    expect(seen()[0]).toMatchObject({
      url: '/movies/a%20b?c=%2F',
      headers: { 'x-forwarded-for': '203.0.113.9, 127.0.0.1' },
    });
  });

  it('a response is forwarded while it is being written', async () => {
    let finish = () => undefined as void;
    a.answer = b.answer = (_request, response) => {
      response.write('first');
      finish = () => void response.end('last');
    };
    const reader = (await fetch(balancer.url)).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('first');
    finish();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('last');
  });

  it('a router that is no longer ready → its in-flight request completes, and new requests go elsewhere', async () => {
    let finish = () => undefined as void;
    a.answer = b.answer = (_request, response) => void (finish = () => void response.end('finished'));
    const waiting = fetch(balancer.url);
    await pollUntil('the request to arrive', () => seen().length === 1);
    const [holder, other] = a.got.length === 1 ? [a, b] : [b, a];
    holder.ready = false;
    await serving([holder === a ? 'router-b' : 'router-a']);
    other.answer = (_request, response) => void response.end('other');
    expect(await Promise.all([1, 2, 3, 4].map(() => fetch(balancer.url).then((answer) => answer.text())))).toEqual(
      Array(4).fill('other'),
    );
    finish();
    expect(await (await waiting).text()).toBe('finished');
  });

  it('no router is ready → live routers respond; none is live → 503, and the load balancer is not ready', async () => {
    a.ready = b.ready = false;
    await serving([]);
    a.answer = b.answer = (_request, response) => void response.writeHead(503).end('mine');
    expect(await (await fetch(balancer.url)).text()).toBe('mine');
    expect((await fetch(`${balancer.operationsUrl}/health/ready`)).status).toBe(200);
    a.live = b.live = false;
    await pollUntil('the load balancer to report that it is not ready', async () => {
      return (await fetch(`${balancer.operationsUrl}/health/ready`)).status === 503;
    });
    const answer = await fetch(balancer.url, { method: 'PATCH', body: 'x' });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await answer.json()).toMatchObject({ detail: 'No router can be reached: nothing was started.' });
  });

  it('no router is ready, and one is shutting down → only the other router responds', async () => {
    a.ready = b.ready = false;
    a.draining = true;
    await serving([]);
    await pollUntil('the load balancer to notice', async () => {
      return String(await balancer.serving('routers-that-live')) === 'router-b';
    });
    for (let turn = 0; turn < 4; turn += 1) await (await fetch(balancer.url)).text();
    expect([a.got.length, b.got.length]).toEqual([0, 4]);
  });

  it('all routers are shutting down → requests still reach them, as workers have results to report', async () => {
    a.ready = b.ready = false;
    a.draining = b.draining = true;
    await serving([]);
    await pollUntil('the load balancer to notice', async () => {
      return (await balancer.serving('routers-that-live')).length === 0;
    });
    expect((await fetch(balancer.url, { method: 'POST', body: 'report' })).status).toBe(200);
    expect((await fetch(`${balancer.operationsUrl}/health/ready`)).status).toBe(200);
    expect(seen()).toHaveLength(1);
  });

  // This test is the last of its group, because router a does not come back.
  it('a router that refuses connections → the same request goes once to the other router', async () => {
    await a.refuseConnections();
    b.answer = (request, response) => void text(request).then((body) => response.end(body));
    for (let turn = 0; turn < 6; turn += 1) {
      const answer = await fetch(balancer.url, { method: 'PATCH', body: `write ${turn}` });
      expect([answer.status, await answer.text()]).toEqual([200, `write ${turn}`]);
    }
    expect(b.got).toHaveLength(6);
    expect(balancer.output()).not.toContain('/movies');
  });
});

describe('limits on connections', requires('haproxy', 'linux'), () => {
  const nowhere = { port: 9, opsPort: 9 };
  let balancer: LoadBalancer;
  let sockets: Socket[];
  const start = async (options: Parameters<typeof startLoadBalancer>[1]) =>
    void (balancer = await startLoadBalancer([nowhere, nowhere], options));
  beforeEach(() => {
    sockets = [];
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await balancer.stop();
  });

  /** Opens idle connections from one address; resolves when each of them is established or closed. */
  const open = (count: number, localAddress = '127.0.0.1', url = balancer.url): Promise<Socket[]> => {
    const port = Number(new URL(url).port);
    const opened = Array.from({ length: count }, async () => {
      const socket = connect({ host: '127.0.0.1', port, localAddress })
        .on('error', () => undefined)
        .resume();
      sockets.push(socket);
      await new Promise<unknown>((resolve) => socket.once('connect', resolve).once('close', resolve));
      return socket;
    });
    return Promise.all(opened);
  };
  const isClosed = (socket: Socket) => socket.closed;

  it('connections above CONNECTIONS_PER_ADDRESS are closed at once; others, from any address, stay open', async () => {
    await start({ env: { CONNECTIONS_PER_ADDRESS: '3' } });
    // HAProxy may accept the connections in a different order.
    const opened = await open(4);
    await pollUntil('one connection to be closed', () => opened.some(isClosed));
    const [other] = await open(1, '127.0.0.2');
    other?.write('GET / HTTP/1.1\r\nHost: router\r\n\r\n');
    await pollUntil('the response to another address', () => (other?.bytesRead ?? 0) > 0);
    expect(opened.filter(isClosed)).toHaveLength(1);
  });

  it('while clients hold all connections, the operations port responds, and no address holds more than its limit', async () => {
    // The limits per address are 100 for the routers and 5 for Keycloak. The limits for all addresses together are 350
    // for the routers, 30 for Keycloak, and 400 for the whole process.
    await start({ fewConnections: true });
    const opened: Socket[] = [];
    // 5 × 100 is more than the limit of the whole process.
    for (const host of [2, 3, 4, 5, 6]) opened.push(...(await open(110, `127.0.0.${host}`)));
    await pollUntil('30 connections to be closed', () => opened.filter(isClosed).length >= 30);
    const held = async (frontend: string, count: number) =>
      (await balancer.metrics()).includes(`haproxy_frontend_current_sessions{proxy="${frontend}"} ${count}\n`);
    await pollUntil('the public frontend to be full', () => held('routers', 350));
    const toKeycloak = await open(8, '127.0.0.2', balancer.identityUrl);
    await pollUntil('3 connections to Keycloak to be closed', () => toKeycloak.filter(isClosed).length === 3);
    await open(2, '127.0.0.3', balancer.identityUrl);
    await pollUntil('those of another address to be accepted', () => held('identity', 7));
  });
});
