// Tests of a router that drains while the engine starts an execution: a worker gets the task of the execution, and
// later polls end early.

import { createServer, type RequestListener } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import { listenOnLoopback, type LoopbackServer } from '../../../dev/loopback-server.ts';
import type { Router } from '../../../gateway/start-router.ts';
import { startLocalRouter } from '../../gateway/local-router.ts';
import { call } from '../../stack/client.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { type ProviderStandIn, startProviderStandIn } from '../oauth2/provider-stand-in.ts';

const executionId = '00000000-0000-4000-8000-000000000001';
const taskId = `${executionId}.movies_intake`;
const scopes: Readonly<Record<string, string>> = { demo: 'sisdata_W', worker: 'conductor_worker' };
const definitions = readDefinitions('.');
/** Responds to the start of the execution; undefined until the engine has received it. */
let start: (() => void) | undefined;
const respond: RequestListener = (request, response) => {
  request.resume();
  const path = request.url?.split('?')[0] ?? '';
  const send = (body: unknown) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const [, type] = /^\/api\/metadata\/taskdefs\/(.+)$/.exec(path) ?? [];
  const [, name] = /^\/api\/metadata\/workflow\/(\w+)$/.exec(path) ?? [];
  if (request.method === 'POST' && path === '/api/workflow') start = () => void response.end(executionId);
  else if (type !== undefined)
    send(definitions.taskDefs.find(({ definition }) => definition.name === type)?.definition);
  else if (name !== undefined)
    send(definitions.workflows.find(({ definition }) => definition.name === name)?.definition);
  else if (path.startsWith('/api/tasks/poll/')) send([]);
  else if (path.endsWith('/status')) send({ workflowId: executionId, status: 'RUNNING' });
  else if (path.startsWith('/api/tasks/')) response.end('engine-id');
  else response.writeHead(404).end();
};
let engine: LoopbackServer;
let provider: ProviderStandIn;
let router: Router;

beforeAll(async () => {
  engine = await listenOnLoopback(createServer(respond));
  provider = await startProviderStandIn();
  provider.answerIntrospection = async ({ form }) => {
    const client = String(form.get('token')?.split('-')[1]);
    return { status: 200, body: { active: true, client_id: client, scope: scopes[client], token_type: 'Bearer' } };
  };
  router = await startLocalRouter({
    CONDUCTOR_URL: engine.url,
    OAUTH_ISSUER: provider.issuer,
    OAUTH_INTROSPECTIONURL: `${provider.url}/introspect`,
    OAUTH_INTROSPECTIONCLIENTID: 'router',
    OAUTH_INTROSPECTIONCLIENTSECRET: 'secret',
  });
});
afterAll(async () => {
  await router?.stop();
  await provider?.stop();
  await engine?.close();
});

const as = (client: string, path: string, options: { method?: string; body?: string } = {}) =>
  call(`${router.url}${path}`, {
    ...options,
    headers: { authorization: `Bearer opaque-${client}`, 'content-type': 'application/json' },
  });
const pollFor = (timeoutMs: number) =>
  as('worker', `/conductor/api/tasks/poll/batch/movies_intake?workerid=w&count=1&timeout=${timeoutMs}`);
const metric = async (name: string) => {
  const { text } = await call(`${router.operationsUrl}/metrics`);
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
};

it('a router that drains during the start of a read → a held poll gets the task, and the next ends early', async () => {
  const held = pollFor(30_000);
  await pollUntil('the poll to be held', async () => (await metric('router_held_polls')) === 1);
  const read = as('demo', '/movies/x');
  await pollUntil('the start', () => start !== undefined);
  const stopped = router.stop();
  await pollUntil('the drain', async () => (await as('demo', `/executions/${executionId}`)).status === 503);
  start?.();
  expect((await held).json<{ taskId: string }[]>().map(({ taskId }) => taskId)).toEqual([taskId]);

  const startedAt = performance.now();
  const next = pollFor(30_000);
  await pollUntil('the next poll to be held', async () => (await metric('router_held_polls')) === 1);
  const outputData = { outbound: { statusCodeValue: 200, headers: {} } };
  const result = { taskId, workflowInstanceId: executionId, status: 'COMPLETED', outputData };
  await as('worker', '/conductor/api/tasks', { method: 'POST', body: JSON.stringify(result) });
  expect((await read).status).toBe(200);
  expect((await next).json()).toEqual([]);
  expect(performance.now() - startedAt).toBeLessThan(20_000);
  await stopped;
});
