// Tests of requests without a route: 405 with the methods of the path, and 404 for an unknown path.

import express from 'express';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { createMethodGate, createNotRouted } from '../../gateway/pipelines/not-routed.ts';
import type { GatewayConfig } from '../../gateway/plugin-api/gateway-config-schema.ts';
import { createAccessLog } from '../../gateway/server/access-log.ts';
import { type HttpServer, startHttpServer } from '../../gateway/server/http-server.ts';
import { respondWithProblem } from '../../gateway/server/respond-with-problem.ts';
import { sendRaw } from '../wire/raw-client.ts';

let server: HttpServer;

const config = {
  apiEndpoints: {
    movies: { paths: '/movies/:title', methods: ['GET'] },
    readers: { paths: '/shared/:id', methods: ['GET'] },
    writers: { paths: '/shared/*', methods: ['PUT', 'PATCH'] },
    narrow: { paths: '/open/:id', methods: ['GET'] },
    open: { paths: '/open/*' },
    anyHost: { paths: '/hosts/shared', methods: ['PUT'], host: '*' },
    oneHost: { paths: '/hosts/*', methods: ['GET'], host: '*.example.org' },
  },
} as never as GatewayConfig;

beforeAll(async () => {
  const app = express();
  app.use(createMethodGate(config));
  const notRouted = createNotRouted(config);
  app.use((request, response, next) => {
    if (request.url.startsWith('/hosts/')) return notRouted(request, response, next);
    next();
  });
  app.use((request, response) => void response.end(`passed ${request.method}`));
  app.use(
    ((error, request, response, _next) =>
      void respondWithProblem(request, response, error)) as express.ErrorRequestHandler,
  );
  server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    app,
    accessLog: createAccessLog(createLog('test', 'silent'), new Registry()),
    metrics: new Registry(),
    limits: {
      maxConnections: 100,
      headersTimeoutMs: 10_000,
      requestTimeoutMs: 30_000,
      keepAliveTimeoutMs: 65_000,
      responseTimeoutMs: 30_000,
    },
  });
});
afterAll(() => server.stop(1_000));

it.each(['TRACE', 'PROPFIND', 'OPTIONS'])('returns 405 with the methods of the route for %s', async (method) => {
  const answer = await sendRaw(server.url, `${method} /movies/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  expect(answer.status).toBe(405);
  expect(answer.headers['allow']).toBe('GET, HEAD');
});

it.each(['TRACE', 'PROPFIND'])('returns 404 for %s on a path without a route', async (method) => {
  const answer = await sendRaw(server.url, `${method} /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  expect(answer.status).toBe(404);
});

it('returns 405 with the methods of every endpoint of the path', async () => {
  const answer = await sendRaw(server.url, 'OPTIONS /shared/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect(answer.status).toBe(405);
  expect(answer.headers['allow']).toBe('GET, HEAD, PUT, PATCH');
});

it('names each method once', async () => {
  const answer = await sendRaw(server.url, 'TRACE /open/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect(answer.status).toBe(405);
  expect(answer.headers['allow']).toBe('GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS');
});

it('passes OPTIONS to the pipeline when an endpoint of the path has no list of methods', async () => {
  const answer = await sendRaw(server.url, 'OPTIONS /open/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect(answer.body).toBe('passed OPTIONS');
});

it.each([
  ['GET', '/hosts/one', 'other.org', 404, undefined],
  ['OPTIONS', '/hosts/one', 'other.org', 404, undefined],
  ['POST', '/hosts/one', 'A.Example.org:8080', 405, 'GET, HEAD'],
  ['POST', '/hosts/shared', 'a.example.org', 405, 'PUT, GET, HEAD'],
  ['POST', '/hosts/shared', 'other.org', 405, 'PUT'],
])('considers only endpoints of the host: %s %s at %s gets %i', async (method, path, host, status, allow) => {
  const answer = await sendRaw(server.url, `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect([answer.status, answer.headers['allow']]).toEqual([status, allow]);
});
