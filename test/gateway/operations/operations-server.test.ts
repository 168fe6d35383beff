// Tests of the operations port over real HTTP: its Host check (against DNS rebinding), which accepts IP addresses,
// localhost and the names in ops.hosts, and its errors.

import { type IncomingMessage, request as httpRequest } from 'node:http';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OperationsServer, startOperationsServer } from '../../../gateway/operations/operations-server.ts';

let server: OperationsServer;
const logged: object[] = [];

beforeAll(async () => {
  const ask = async () => ({ ready: true, reasons: {}, notices: {} });
  const hosts = ['router-a', 'Router.Monitoring.svc'];
  const log = { error: (fields: object) => void logged.push(fields) };
  const pages = { '/broken': () => Promise.reject(new TypeError('a secret')) };
  const listener = { host: '127.0.0.1', port: 0, hosts, keys: 'ops.port' };
  server = await startOperationsServer({ ...listener, readiness: { ask }, pages, log });
});
afterAll(() => server.stop());

async function ask(host: string, path = '/health/live') {
  const request = httpRequest(`${server.url}${path}`, { headers: { host } }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode, type: response.headers['content-type'], body: await text(response) };
}

describe('the operations port', () => {
  it.each([
    'localhost',
    'localhost:8081',
    'LOCALHOST.',
    '127.0.0.1:8081',
    '127.1.2.3',
    '[::1]:8081',
    '10.244.1.17:8081',
    '[2001:db8::5]',
    'router-a:8081',
    'ROUTER-A',
    'router.monitoring.svc:8081',
  ])('responds to requests for %s', async (host) => {
    expect((await ask(host)).status).toBe(200);
  });

  it.each([
    'evil.example',
    'evil.example:8081',
    'router-b:8081',
    'router-a.evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example:127.0.0.1',
    '[evil.example]',
  ])('rejects requests for "%s" with 421, whatever the path', async (host) => {
    for (const path of ['/health/live', '/health/ready', '/nowhere']) {
      const { status, type, body } = await ask(host, path);
      expect([status, type]).toEqual([421, 'application/problem+json']);
      expect(JSON.parse(body)).toEqual({
        type: 'about:blank',
        title: 'Misdirected Request',
        status: 421,
        detail: 'This port accepts only requests whose Host is an IP address, localhost or a name listed in ops.hosts.',
      });
    }
  });

  it('rejects requests from pages of another origin with 403 and the reason', async () => {
    const response = await fetch(`${server.url}/health/live`, {
      headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' },
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([403, 'application/problem+json']);
    expect(await response.json()).toMatchObject({ detail: expect.stringContaining('pages of another origin') });
  });

  it('responds with 500 and logs the reason when a page fails', async () => {
    const { status, type, body } = await ask('localhost', '/broken?client=c');
    expect([status, type]).toEqual([500, 'application/problem+json']);
    expect(body).not.toContain('secret');
    expect(logged).toMatchObject([{ path: '/broken', error: 'a secret' }]);
  });

  it('responds to HTTP/1.0 without a Host, which some load balancers send as a health check', async () => {
    const { hostname, port } = new URL(server.url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write('GET /health/ready HTTP/1.0\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /);
  });
});
