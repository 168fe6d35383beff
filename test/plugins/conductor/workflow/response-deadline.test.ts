// Tests that the response deadline counts from the arrival of the request, not from the end of its token check.

import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listenOnLoopback, type LoopbackServer } from '../../../../dev/loopback-server.ts';
import type { Router } from '../../../../gateway/start-router.ts';
import { startLocalRouter } from '../../../gateway/local-router.ts';
import { call } from '../../../stack/client.ts';
import { type ProviderStandIn, startProviderStandIn } from '../../oauth2/provider-stand-in.ts';

const deadlineMs = 10_000;
const checkMs = 6_000;
const workflowId = randomUUID();
/** Starts executions that never end. */
const respond: RequestListener = (request, response) => {
  request.resume();
  if (request.method === 'POST' && request.url === '/api/workflow') return void response.end(workflowId);
  const isStatus = request.url?.startsWith(`/api/workflow/${workflowId}/status`) === true;
  response.writeHead(isStatus ? 200 : 404, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ workflowId, status: 'RUNNING' }));
};
let engine: LoopbackServer;
let provider: ProviderStandIn;
let router: Router;

beforeAll(async () => {
  engine = await listenOnLoopback(createServer(respond));
  provider = await startProviderStandIn();
  provider.answerIntrospection = async () => {
    await pause(checkMs);
    return { status: 200, body: { active: true, client_id: 'demo', scope: 'sisdata_W', token_type: 'Bearer' } };
  };
  router = await startLocalRouter({
    CONDUCTOR_URL: engine.url,
    OAUTH_ISSUER: provider.issuer,
    OAUTH_INTROSPECTIONURL: `${provider.url}/introspect`,
    OAUTH_INTROSPECTIONCLIENTID: 'router',
    OAUTH_INTROSPECTIONCLIENTSECRET: 'secret',
    OAUTH_TIMEOUTMS: String(deadlineMs),
    ROUTER_RESPONSEDEADLINEMS: String(deadlineMs),
  });
});
afterAll(async () => {
  await router?.stop();
  await provider?.stop();
  await engine?.close();
});

it.concurrent.each([
  ['GET', '/movies/x', undefined],
  ['PUT', '/adaptor/001/persons/1', '{}'],
])('counts the time of a slow token check toward the response deadline of a %s request', async (method, path, body) => {
  const headers = { authorization: `Bearer opaque-${method}`, 'content-type': 'application/json' };
  const startedAt = performance.now();
  const answer = await call(`${router.url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  const ms = performance.now() - startedAt;
  expect(answer.json()).toMatchObject({ status: 504, type: expect.stringContaining('wait-budget-spent') });
  expect(ms).toBeGreaterThan(checkMs);
  expect(ms).toBeLessThan(checkMs + deadlineMs);
});
