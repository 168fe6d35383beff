// Tests of client identity behind a proxy, over real HTTP: the policies rate-limit and workflow see the same client.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCount } from '../stack/metrics.ts';
import { pollUntil } from '../stack/poll-until.ts';
import type { Router } from '../../gateway/start-router.ts';
import { startLocalRouter } from './local-router.ts';

const proxy = '127.0.0.200';
const stranger = '127.0.0.201';

const map = `
http: { hostname: 127.0.0.1, port: '\${router.port}' }
apiEndpoints:
  counted: { paths: /counted }
  queued: { paths: /queued/* }
  versioned: { paths: /versioned/* }
  executions: { paths: /executions/:id, methods: [GET] }
  execution-response: { paths: /executions/:id/response, methods: [GET] }
plugins:
  limits: { package: ./plugins/limits/index.ts }
  conductor: { package: ./plugins/conductor/index.ts }
  contract: { package: ./plugins/api-docs/index.ts }
policies: [rate-limit, workflow, executions, openapi]
pipelines:
  counted:
    apiEndpoints: [counted]
    policies:
      - rate-limit: { action: { requests: 2, perSeconds: 3600 } }
      - openapi:
  queued:
    apiEndpoints: [queued]
    policies:
      - workflow: { action: { name: moviesWF, version: 1, strip: /queued } }
  versioned:
    apiEndpoints: [versioned]
    policies:
      - workflow: { action: { name: moviesWF, versions: { 1: 50, 2: 50 }, strip: /versioned } }
  executions:
    apiEndpoints: [executions]
    policies:
      - executions: { action: { serve: status } }
  execution-response:
    apiEndpoints: [execution-response]
    policies:
      - executions: { action: { serve: response } }
`;

const dir = mkdtempSync(join(tmpdir(), 'service-router-caller-'));
/** The starts that the engine holds, each with the path of its request. */
const held: { readonly path: string; readonly response: ServerResponse }[] = [];
/** A fake engine that rejects every start, but holds starts for /queued until the test rejects them. */
const engine = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  if (`${request.method} ${request.url}` !== 'POST /api/workflow') return void response.writeHead(404).end();
  const { path } = (JSON.parse(body) as { input: { inbound: { path: string } } }).input.inbound;
  if (/^\/[a-z]$/.test(path)) held.push({ path, response });
  else response.writeHead(400).end();
});
let router: Router;

beforeAll(async () => {
  writeFileSync(join(dir, 'map.yml'), map);
  engine.listen(0, '127.0.0.1');
  await once(engine, 'listening');
  router = await startLocalRouter({
    CONDUCTOR_URL: `http://127.0.0.1:${(engine.address() as AddressInfo).port}`,
    ROUTER_GATEWAYCONFIGFILE: join(dir, 'map.yml'),
    ROUTER_TRUSTEDPROXIES: proxy,
    ROUTER_MAXCONNECTIONSPERADDRESS: '4',
    ADMISSION_MINLIMIT: '2',
    ADMISSION_INITIALLIMIT: '2',
    ADMISSION_MAXLIMIT: '2',
    ADMISSION_QUEUEMS: '30000',
    ADMISSION_BACKENDSHAREPERCENT: '100',
  });
});
afterAll(async () => {
  await router?.stop();
  engine.closeAllConnections();
  engine.close();
  rmSync(dir, { recursive: true });
});

interface Via {
  /** Source address of the connection. */
  readonly from: string;
  readonly headers?: Record<string, string>;
}

async function ask(path: string, { from, headers = {} }: Via) {
  const request = httpRequest(`${router.url}${path}`, { localAddress: from, agent: false, headers });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return { status: response.statusCode, headers: response.headers };
}

const forwardedFor = (address: string) => ({ 'x-forwarded-for': address });
/** Returns one address in each of three networks. */
const clients = (host: number) => [`198.51.100.${host}`, `203.0.113.${host}`, `2001:db8:0:${host}::1`];

describe('a client without a token', () => {
  const statuses = async (via: Via) => {
    const found: (number | undefined)[] = [];
    for (let n = 0; n < 3; n++) found.push((await ask('/counted', via)).status);
    return found;
  };

  it('behind a trusted proxy has its own rate limit', async () => {
    for (const client of clients(1)) {
      expect(await statuses({ from: proxy, headers: forwardedFor(client) })).toEqual([200, 200, 429]);
    }
  });

  it('behind a proxy that is not trusted has the limit of the proxy', async () => {
    const [first = '', second = ''] = clients(2);
    expect(await statuses({ from: stranger, headers: forwardedFor(first) })).toEqual([200, 200, 429]);
    expect((await ask('/counted', { from: stranger, headers: forwardedFor(second) })).status).toBe(429);
  });

  it('gains nothing by sending Forwarded or its own X-Forwarded-For', async () => {
    const found: (number | undefined)[] = [];
    for (const invented of clients(3)) {
      const headers = { ...forwardedFor(`${invented}, 192.0.2.33`), forwarded: `for="${invented}"` };
      found.push((await ask('/counted', { from: proxy, headers })).status);
    }
    expect(found).toEqual([200, 200, 429]);
  });

  it('behind a trusted proxy gets the workflow version for its own address', async () => {
    const versionsVia = async (from: string) => {
      const networks = Array.from({ length: 24 }, (_, n) => forwardedFor(`198.51.100.${n}`));
      const answers = [];
      for (const headers of networks) answers.push(await ask('/versioned/title', { from, headers }));
      return answers.map(({ headers }) => String(headers['x-workflow-version']));
    };
    const [first, second] = [await versionsVia(proxy), await versionsVia(proxy)];
    expect(first).toEqual(second);
    expect(new Set(first)).toEqual(new Set(['1', '2']));
    expect(new Set(await versionsVia(stranger)).size).toBe(1);
  });

  it('shares the admission queue round-robin with other clients behind a trusted proxy', async () => {
    const [busy = '', other = ''] = clients(4);
    const queued = (count: number) =>
      pollUntil(
        `${count} requests in the queue`,
        async () => (await readCount(router.operationsUrl, 'router_admission_queued')) === count,
      );
    const send = (path: string, client: string) =>
      ask(`/queued/${path}`, { from: proxy, headers: forwardedFor(client) });
    const answers = [send('a', busy), send('b', busy)];
    await pollUntil('two executions', () => held.length === 2);
    answers.push(send('c', busy));
    await queued(1);
    answers.push(send('d', other));
    await queued(2);
    // The busy client still holds one of the two permits, so the other client is next.
    held[0]?.response.writeHead(400).end();
    await pollUntil('the next start', () => held.length === 3);
    expect(held[2]?.path).toBe('/d');
    held[1]?.response.writeHead(400).end();
    await pollUntil('the last start', () => held.length === 4);
    for (const { response } of held.slice(2)) response.writeHead(400).end();
    await Promise.all(answers);
  });
});

describe('router.maxConnectionsPerAddress', () => {
  /** Opens connections that stay open, and returns the status of the response on each. */
  const statusesOf = async (from: string, count: number) => {
    const { hostname: host, port } = new URL(router.url);
    const sockets = Array.from({ length: count }, () => connect({ host, port: Number(port), localAddress: from }));
    const statuses = await Promise.all(
      sockets.map(async (socket) => {
        socket.write('GET /nowhere HTTP/1.1\r\nHost: router\r\n\r\n');
        const [head] = (await once(socket, 'data')) as [Buffer];
        return Number(/^HTTP\/1\.1 (\d+)/.exec(head.toString('latin1'))?.[1]);
      }),
    );
    for (const socket of sockets) socket.destroy();
    return statuses.sort();
  };

  it('limits the connections of a client, but not those of a trusted proxy, which has many clients', async () => {
    expect(await statusesOf(stranger, 5)).toEqual([404, 404, 404, 404, 503]);
    expect(await statusesOf(proxy, 5)).toEqual([404, 404, 404, 404, 404]);
  });
});
