// Tests of attempts to bypass the allow-list of the engine API, sent as raw bytes to the running router. Whatever the
// response, the engine receives only calls that the list allows.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createToken } from '../plugins/oauth2/forge.ts';
import { issuerKey } from '../stack/issuer-key.ts';
import { engineApi } from '../stack/engine-api.ts';
import { sendRaw } from '../wire/raw-client.ts';
import { audience } from '../stack/stack.ts';
import { type AttackedStack, startAttackedStack } from './attacked-stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { requires } from '../run/requirements.ts';

const engineUrl = engineOfRun().url;
const engine = engineApi(engineUrl);
const canary = `attack_canary_${randomUUID().slice(0, 6)}`;
let attacked: AttackedStack;
let host: string;
/** An access token with both scopes of this API, so that no call is rejected because of its scope. */
let token: string;

beforeAll(async () => {
  attacked = await startAttackedStack(engineUrl);
  ({ host } = new URL(attacked.stack.url));
  const mint = { issuer: attacked.stack.issuer, audience, nowSeconds: () => Date.now() / 1000 };
  const key = await issuerKey(attacked.stack);
  token = createToken(key, mint, { claims: { client_id: 'ops', scope: 'conductor_admin conductor_worker' } });
  const definition = { name: canary, ownerEmail: 'a@example.org', timeoutSeconds: 60, responseTimeoutSeconds: 30 };
  await engine.send('POST', '/metadata/taskdefs', [definition]);
});
afterAll(async () => {
  await engine.send('DELETE', `/metadata/taskdefs/${canary}`);
  await attacked?.stop();
});

/** Sends one request with this token, byte for byte. */
const send = (line: string, fields: readonly string[] = [], body = '') =>
  sendRaw(
    attacked.stack.url,
    [line, `Host: ${host}`, `Authorization: Bearer ${token}`, 'Connection: close', ...fields, '', body].join('\r\n'),
  );
const withBody = (body: string, ...fields: string[]) =>
  [['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`, ...fields], body] as const;

const seen = () => attacked.engine.requests.map(({ method, target }) => `${method} ${target}`);

async function expectUnharmed(): Promise<void> {
  attacked.engine.requests.length = 0;
  expect((await send(`GET /conductor/api/metadata/taskdefs/${canary} HTTP/1.1`)).status).toBe(200);
  expect(seen()).toEqual([`GET /api/metadata/taskdefs/${canary}`]);
}

describe('paths that try to bypass the allow-list', () => {
  it.each([
    '/conductor/api/metadata/../admin/config',
    '/conductor/api/metadata/./taskdefs',
    '/conductor/api/metadata/%2e%2e/admin/config',
    '/conductor/api/metadata/%2E%2e/admin/config',
    '/conductor/api/metadata/.%2e/admin/config',
    '/conductor/api/metadata/%2e%2e%2fadmin%2fconfig',
    '/conductor/api/metadata/..%2fadmin/config',
    '/conductor/api/metadata/..%5cadmin/config',
    '/conductor/api/metadata/..\\admin\\config',
    '/conductor/api/metadata%2f..%2fadmin%2fconfig',
    '/conductor/api/metadata%2ftaskdefs',
    '/conductor/api/metadata/taskdefs%2fx',
    '/conductor/api/metadata/taskdefs%5cx',
    '/conductor/api/metadata/%252e%252e/admin/config',
    '/conductor/api/metadata/%25252e%25252e/admin/config',
    '/conductor/api/metadata/%252f..%252fadmin',
    '/conductor/api/metadata/..;/admin/config',
    '/conductor/api/metadata/..;x=1/admin/config',
    '/conductor/api/metadata;x=1/taskdefs',
    '/conductor/api/metadata/taskdefs;x=/../../admin',
    '/conductor/api/metadata/%3b/taskdefs',
    '/conductor/api/metadata/taskdefs%3bx=1',
    '/conductor/api/metadata/taskdefs/x%00',
    '/conductor/api/metadata/taskdefs/x%0d%0aHost:%20x',
    '/conductor/api/metadata/taskdefs/x%20y',
    '/conductor/api/metadata/taskdefs/x%3fa=b',
    '/conductor/api/metadata/taskdefs/x%23y',
    '/conductor/api/metadata/%c0%ae%c0%ae/admin/config',
    '/conductor/api/metadata/%ef%bc%8e%ef%bc%8e/admin/config',
    '/conductor/api/metadata//taskdefs',
    '/conductor/api//metadata/taskdefs',
    '/conductor//api/metadata/taskdefs',
    '//conductor/api/metadata/taskdefs',
    '/conductor/api/../api/metadata/taskdefs',
    '/conductor/api/%61dmin/config',
    '/conductor/api/admin/config',
    '/conductor/api/ADMIN/config',
    '/conductor/api/admin/config/',
    '/conductor/api/Metadata/taskdefs',
    '/conductor/api/health',
    '/conductor/api',
    '/conductor/api/',
    '/conductor/health',
    '/conductor/../health',
    '/conductor/actuator/env',
    '/conductor/swagger-ui/index.html',
    '/api/metadata/taskdefs',
    '/admin/config',
    '/CONDUCTOR/api/admin/config',
    '/conductor%2fapi/metadata/taskdefs',
    '/conductor/api%2fmetadata/taskdefs',
    '/%63onductor/api/admin/config',
    '/movies/../conductor/api/admin/config',
    '/adaptor/001/..%2f..%2fconductor/api/admin/config',
    '*',
    `/conductor/api/metadata/taskdefs/${'a/'.repeat(200)}../../x`,
  ])('GET %s → nothing reaches the engine', async (path) => {
    attacked.engine.requests.length = 0;
    const answer = await send(`GET ${path} HTTP/1.1`);
    expect(seen()).toEqual([]);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    await expectUnharmed();
  });

  it.each([
    (to: string) => `GET ${to}/api/admin/config HTTP/1.1`,
    (to: string) => `GET ${to}/conductor/api/metadata/taskdefs HTTP/1.1`,
    (to: string) => `GET ${to.replace('http:', 'HTTP:')}/api/admin/config HTTP/1.1`,
    (to: string) => `GET ${to.replace('http://', '//')}/api/admin/config HTTP/1.1`,
    (to: string) => `GET ${to.replace('http://', '')}/api/admin/config HTTP/1.1`,
    (to: string) => `CONNECT ${to.replace('http://', '')} HTTP/1.1`,
  ])('absolute or authority form %# → refused, and no server is called', async (line) => {
    attacked.engine.requests.length = 0;
    for (const to of [attacked.engine.url, attacked.stack.url]) {
      const answer = await send(line(to));
      expect([0, 400, 404, 405]).toContain(answer.status);
    }
    expect(seen()).toEqual([]);
    await expectUnharmed();
  });

  it('the address of the engine in Host → 404, and nothing reaches the engine', async () => {
    attacked.engine.requests.length = 0;
    const { host: engineHost } = new URL(attacked.engine.url);
    const bytes = `GET /api/admin/config HTTP/1.1\r\nHost: ${engineHost}\r\nConnection: close\r\n\r\n`;
    expect((await sendRaw(attacked.stack.url, bytes)).status).toBe(404);
    expect(seen()).toEqual([]);
    await expectUnharmed();
  });
});

describe('methods', () => {
  const path = () => `/conductor/api/metadata/taskdefs/${canary}`;

  it.each(['DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'MERGE', 'get', 'GETX', 'DELETE\tGET'])(
    '%s → nothing reaches the engine',
    async (method) => {
      attacked.engine.requests.length = 0;
      const answer = await send(`${method} ${path()} HTTP/1.1`);
      expect([0, 204, 400, 404, 405]).toContain(answer.status);
      expect(seen()).toEqual([]);
      await expectUnharmed();
    },
  );

  it.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', '_method'])(
    '%s: DELETE → ignored, and not forwarded',
    async (name) => {
      attacked.engine.requests.length = 0;
      expect((await send(`GET ${path()} HTTP/1.1`, [`${name}: DELETE`])).status).toBe(200);
      expect(seen()).toEqual([`GET /api/metadata/taskdefs/${canary}`]);
      expect(Object.keys(attacked.engine.requests[0]!.headers)).not.toContain(name.toLowerCase());
      const [fields, body] = withBody('_method=DELETE', `${name}: DELETE`);
      await send(`POST ${path()}?_method=DELETE HTTP/1.1`, fields, body);
      expect(seen().every((one) => !one.startsWith('DELETE'))).toBe(true);
      await expectUnharmed();
    },
  );

  it.each([
    ['start a workflow', 'POST /conductor/api/workflow HTTP/1.1', '{"name":"moviesWF","version":1,"input":{}}'],
    ['start a workflow by its name', 'POST /conductor/api/workflow/moviesWF HTTP/1.1', '{}'],
    ['execute a workflow', 'POST /conductor/api/workflow/execute/moviesWF/1 HTTP/1.1', '{}'],
    ['terminate an execution', 'DELETE /conductor/api/workflow/x HTTP/1.1', ''],
    ['remove an execution', 'DELETE /conductor/api/workflow/x/remove HTTP/1.1', ''],
    ['retry an execution', 'POST /conductor/api/workflow/x/retry HTTP/1.1', ''],
    ['pause an execution', 'PUT /conductor/api/workflow/x/pause HTTP/1.1', ''],
    ['terminate many executions', 'POST /conductor/api/workflow/bulk/terminate HTTP/1.1', '["x"]'],
    ['complete a task by its reference name', 'POST /conductor/api/tasks/x/work/COMPLETED HTTP/1.1', '{}'],
    ['complete a task and read the execution', 'POST /conductor/api/tasks/x/work/COMPLETED/sync HTTP/1.1', '{}'],
    ['put a task back', 'POST /conductor/api/tasks/queue/requeue/movies_intake HTTP/1.1', ''],
    ['delete a handler', 'DELETE /conductor/api/event/mdm HTTP/1.1', ''],
    ['verify and repair', 'POST /conductor/api/admin/consistency/verifyAndRepair/x HTTP/1.1', ''],
  ])('%s → 404, whatever the scope', async (_name, line, text) => {
    attacked.engine.requests.length = 0;
    const [fields, body] = withBody(text);
    expect((await send(line, fields, body)).status).toBe(404);
    expect(seen()).toEqual([]);
    await expectUnharmed();
  });
});

describe('results with fields or values that a worker may not send', () => {
  // The engine would read the output from `externalOutputPayloadStoragePath`: /dev/zero crashed the engine, and a
  // missing file kept the execution running forever.
  it.each([
    { externalOutputPayloadStoragePath: '../../dev/zero' },
    { externalOutputPayloadStoragePath: '../../dev/zero', status: 'IN_PROGRESS' },
    { ExternalOutputPayloadStoragePath: 'x' },
    { subWorkflowId: canary },
    { outputMessage: { '@type': 'x' } },
    { status: 'BANANA' },
    { status: 3 },
  ])('%j → 400, and nothing reaches the engine', async (fields) => {
    const result = { taskId: canary, workflowInstanceId: canary, status: 'COMPLETED', reasonForIncompletion: 'x' };
    for (const path of ['tasks', 'tasks/update-v2']) {
      attacked.engine.requests.length = 0;
      const [head, body] = withBody(JSON.stringify({ ...result, ...fields }));
      expect((await send(`POST /conductor/api/${path} HTTP/1.1`, head, body)).status).toBe(400);
      expect(seen()).toEqual([]);
    }
    await expectUnharmed();
  });
});

it.each([
  '/conductor/api/tasks/poll/batch/_deciderQueue?count=64',
  '/conductor/api/tasks/poll/_deciderQueue',
  '/conductor/api/tasks/poll/batch/person_patched?domain=college-adaptorWF',
  '/conductor/api/tasks/poll/batch/college-adaptorWF%3Aperson_patched',
  '/conductor/api/tasks/poll/batch/HTTP',
])(
  'a poll of a queue in which the engine keeps no tasks for workers: %s → 403, and nothing reaches the engine',
  async (path) => {
    attacked.engine.requests.length = 0;
    expect((await send(`GET ${path} HTTP/1.1`)).status).toBe(403);
    expect(seen()).toEqual([]);
  },
);

describe('a forwarded call', () => {
  it('carries neither credentials nor forged header fields of the client', async () => {
    attacked.engine.requests.length = 0;
    const fields = [
      'Cookie: a=b',
      'X-Authorization2: x',
      'X-Forwarded-For: 203.0.113.1',
      'X-Forwarded-Host: evil.example',
      'X-Original-URL: /api/admin/config',
      'X-Rewrite-URL: /api/admin/config',
      'Forwarded: for=203.0.113.1',
      'TE: trailers',
    ];
    expect((await send(`GET /conductor/api/metadata/taskdefs/${canary} HTTP/1.1`, fields)).status).toBe(200);
    expect(Object.keys(attacked.engine.requests[0]!.headers).toSorted()).toEqual(['accept', 'connection', 'host']);
  });

  it.each(['h2c', 'websocket', 'TLS/1.0', 'tcp'])('an upgrade to %s → no tunnel', async (protocol) => {
    attacked.engine.requests.length = 0;
    const fields = [`Upgrade: ${protocol}`, 'Connection: Upgrade, HTTP2-Settings', 'HTTP2-Settings: AAMAAABkAAQ'];
    const listed = await send(`GET /conductor/api/metadata/taskdefs/${canary} HTTP/1.1`, fields);
    expect(listed.status).not.toBe(101);
    expect((await send('GET /conductor/api/admin/config HTTP/1.1', fields)).status).not.toBe(101);
    for (const { target, headers } of attacked.engine.requests) {
      expect(target).toBe(`/api/metadata/taskdefs/${canary}`);
      expect(headers.upgrade).toBeUndefined();
    }
    await expectUnharmed();
  });

  it('bytes after an upgrade or in a body are never taken for a request to the engine', async () => {
    attacked.engine.requests.length = 0;
    const inner = `GET /api/admin/config HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    await send(`GET /conductor/api/metadata/taskdefs/${canary} HTTP/1.1`, ['Upgrade: x', 'Connection: Upgrade'], inner);
    const [fields, body] = withBody(inner);
    await send(`GET /conductor/api/metadata/taskdefs/${canary} HTTP/1.1`, fields, body);
    const chunked = `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`;
    await send(`GET /conductor/api/event HTTP/1.1`, ['Transfer-Encoding: chunked'], chunked);
    expect(seen().filter((one) => one.includes('admin'))).toEqual([]);
    await expectUnharmed();
  });
});

/** Returns the local addresses (hex, as the kernel prints them) of the sockets that listen on a port. */
function listeningOn(port: string): string[] {
  const hex = Number(port).toString(16).toUpperCase().padStart(4, '0');
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => state === '0A' && local?.endsWith(`:${hex}`) === true)
      .map(([, local = '']) => local.split(':')[0] as string),
  );
}

describe('listening ports', requires('linux'), () => {
  it('router, operations port, engine, identity provider and back ends listen on the loopback address only', () => {
    const { url, operationsUrl, issuer, backEndsUrl } = attacked.stack;
    const loopback = ['0100007F', '00000000000000000000000001000000', '0000000000000000FFFF00000100007F'];
    for (const address of [url, operationsUrl, issuer, backEndsUrl, engineUrl]) {
      const addresses = listeningOn(new URL(address).port);
      expect(addresses.length, address).toBeGreaterThan(0);
      expect(addresses.filter((one) => !loopback.includes(one))).toEqual([]);
    }
  });
});
