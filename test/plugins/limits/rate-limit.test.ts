// The rate limit counts by client, refuses with 429, and lets go when its window is over.

import express from 'express';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { setContext } from '../../../gateway/contract.ts';
import { answerProblem } from '../../../gateway/answer-problem.ts';
import { rateLimitPolicy } from '../../../plugins/limits/rate-limit.ts';
import { call } from '../../stack/client.ts';
import { pollUntil } from '../../stack/poll-until.ts';

const stops: (() => void)[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

async function startHost(action: { requests: number; perSeconds?: number }): Promise<string> {
  const app = express();
  app.use((request, _response, next) => {
    const clientId = request.get('x-client');
    setContext(request, { requestId: 'r', route: 'test', ...(clientId === undefined ? {} : { clientId }) });
    next();
  });
  const handler = rateLimitPolicy.policy(action as never);
  app.use((request, response, next) => void Promise.resolve(handler(request, response, next)).catch(next));
  app.use((_request, response) => void response.end('through'));
  app.use(
    ((error, request, response, _next) => void answerProblem(request, response, error)) as express.ErrorRequestHandler,
  );
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const statuses = async (url: string, client: string, times: number) =>
  (await Promise.all(Array.from({ length: times }, () => call(url, { headers: { 'x-client': client } })))).map(
    ({ status }) => status,
  );

describe('rate-limit', () => {
  it('more than the allowed requests of one client: 429 with Retry-After, other clients pass', async () => {
    const url = await startHost({ requests: 3, perSeconds: 30 });
    expect((await statuses(url, 'a', 5)).sort()).toEqual([200, 200, 200, 429, 429]);
    expect(await statuses(url, 'b', 3)).toEqual([200, 200, 200]);
    const refused = await call(url, { headers: { 'x-client': 'a' } });
    expect(refused.json()).toMatchObject({ type: '/problems/too-many-requests', status: 429 });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('a request without a client is counted by its address', async () => {
    const url = await startHost({ requests: 1, perSeconds: 30 });
    expect((await call(url)).status).toBe(200);
    expect((await call(url)).status).toBe(429);
  });

  it('the window over: the client passes again', async () => {
    const url = await startHost({ requests: 1, perSeconds: 1 });
    await statuses(url, 'a', 2);
    await pollUntil('the client to pass again', async () => (await statuses(url, 'a', 1))[0] === 200, {
      timeoutMs: 3_000,
      everyMs: 100,
    });
  });
});
