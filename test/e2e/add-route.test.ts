// Tests of adding a plain back end without writing code: the command add-route, the definitions on the engine, and
// requests to a real HTTP server.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenApiDocument } from '#lib/openapi/openapi.ts';
import { runCli } from '../cli/run-cli.ts';
import { copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { call, type Caller, callerFor } from '../stack/client.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const engineUrl = engineOfRun().url;
/** Makes names unique to this file, because the engine is shared. */
const suffix = randomBytes(4).toString('hex');
const [catalog, orders, library] = [`catalog-${suffix}`, `orders-${suffix}`, `library-${suffix}`];
const copy = copyOfProduct();

interface Received {
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
interface BackEnd {
  readonly url: string;
  readonly server: Server;
  readonly received: Received[];
}

let ours: BackEnd;
let atCollege: BackEnd;
let stack: Stack;
let demo: Caller;
let reader: Caller;

/** Starts a server that echoes each request as JSON, with status 201 for a POST and 200 for other methods. */
async function startBackEnd(): Promise<BackEnd> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const line = `${request.method} ${request.url}`;
      received.push({ line, headers: request.headers, body });
      response.writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ line, body }));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/base`, server, received };
}

async function succeed(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runCli([...args, '--dir', copy.dir]);
  expect({ args, exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ args, exitCode: 0, stderr: '' });
  return stdout;
}
const engineOptions = ['--engine', engineUrl, '--only', `*${suffix}*`];

beforeAll(async () => {
  [ours, atCollege] = await Promise.all([startBackEnd(), startBackEnd()]);
  const add = (name: string, path: string, methods: string, ...more: string[]) =>
    succeed('add-route', name, '--path', path, '--methods', methods, '--url', ours.url, ...more);
  await add(catalog, `/${catalog}/:course_id`, 'GET');
  await add(orders, `/${orders},/${orders}/*`, 'GET,POST', '--write-scope', 'sisdata_W', '--summary', 'The orders');
  await add(library, `/${library}/:mis/*`, 'GET', '--mis-codes', 'mis');
  // The only manual edit: it sends the requests for a college to the workers of its domain.
  copy.replace('gateway.config.yml', `strip: /${library} `, `strip: /${library}, domainOf: mis `);
  await succeed('apply', '--yes', ...engineOptions);
  stack = await shareStack({
    engineUrl,
    router: { ROUTER_GATEWAYCONFIGFILE: join(copy.dir, 'gateway.config.yml') },
    workers: { CONFIG_URL: pathToFileURL(join(copy.dir, 'config/default.properties')).href },
  });
  [demo, reader] = await Promise.all([callerFor(stack.url), callerFor(stack.url, 'reader')]);
});
afterAll(async () => {
  await stack?.stop();
  for (const { server } of [ours, atCollege]) server?.close();
  copy.dispose();
  // Removes these definitions, which the product's own files do not contain.
  await runCli(['apply', '--yes', '--prune', ...engineOptions]);
});

describe('routes that add-route has written', () => {
  it('apply has registered their definitions, and plan finds nothing more to do', async () => {
    expect(await succeed('plan', ...engineOptions)).toContain('no changes; 6 unchanged');
  });

  it('GET: path and query are appended to the base URL, and the client gets the back end’s response', async () => {
    const answer = await demo(`/${catalog}/ENGL-C1000?term=2026FA&a=%2F`);
    expect([answer.status, answer.json()]).toEqual([200, { line: 'GET /base/ENGL-C1000?term=2026FA&a=%2F', body: '' }]);
    const { headers } = ours.received.at(-1)!;
    expect(headers['x-request-id']).toBe(answer.headers['x-request-id']);
    expect(headers).not.toHaveProperty('authorization');
    expect(headers).not.toHaveProperty('idempotency-key');
  });

  it('POST: the body arrives as it was sent, with the execution id as Idempotency-Key', async () => {
    const body = '{"amount": 12345678901234567890, "amount": 1.0}';
    const answer = await demo(`/${orders}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect([answer.status, answer.json()]).toEqual([201, { line: 'POST /base', body }]);
    expect(ours.received.at(-1)).toMatchObject({
      headers: { 'content-type': 'application/json', 'idempotency-key': answer.headers['x-execution-id'] },
    });
  });

  it('POST without the scope: 403, and nothing reaches the back end; a read needs no scope', async () => {
    const before = ours.received.length;
    expect((await reader(`/${orders}/7`, { method: 'POST', body: '{}' })).status).toBe(403);
    expect(ours.received).toHaveLength(before);
    expect((await reader(`/${orders}/7`)).json()).toMatchObject({ line: 'GET /base/7' });
  });

  it('no token: 401; another method: 405', async () => {
    expect((await call(`${stack.url}/${catalog}/1`)).status).toBe(401);
    const refused = await demo(`/${catalog}/1`, { method: 'DELETE' });
    expect([refused.status, refused.headers['allow']]).toEqual([405, 'GET, HEAD']);
  });

  it('the OpenAPI document contains the routes and their summaries', async () => {
    const document = (await call(`${stack.url}/openapi.json`)).json<OpenApiDocument>();
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining([
        `/${catalog}/{course_id}`,
        `/${orders}`,
        `/${orders}/{path}`,
        `/${library}/{mis}/{path}`,
      ]),
    );
    expect(document.tags).toContainEqual(expect.objectContaining({ name: orders, description: 'The orders' }));
  });

  it('domainOf: requests for a college go to the back end of its workers, and others to the common one', async () => {
    await stack.addWorkers({
      WORKERS_DOMAIN: '002',
      WORKERS_TASKTYPES: `${library}_intake`,
      [`BACKEND_LIBRARY_${suffix.toUpperCase()}_URL`]: atCollege.url,
    });
    expect((await demo(`/${library}/002/books`)).status).toBe(200);
    expect(atCollege.received.map(({ line }) => line)).toEqual(['GET /base/002/books']);
    expect((await demo(`/${library}/001/books`)).status).toBe(200);
    expect(ours.received.at(-1)?.line).toBe('GET /base/001/books');
  });

  it('an unreachable back end: 502 with a problem document', async () => {
    ours.server.close();
    ours.server.closeAllConnections();
    const answer = await demo(`/${catalog}/1`);
    expect([answer.status, answer.json()['type']]).toEqual([502, '/problems/back-end-unreachable']);
  });
});
