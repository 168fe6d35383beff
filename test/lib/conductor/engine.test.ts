// Tests of calls to a faulty engine: each ends in time, with the kind of error that callers expect.

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import type { Dispatcher } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { conclusiveAfterMs, Engine, type EngineCall } from '#lib/conductor/engine.ts';
import type { EngineError } from '#lib/conductor/engine-error.ts';
import { sendCall } from '#lib/conductor/send-call.ts';
import { makeCertificate } from '../../stack/certificate.ts';
import { pollUntil } from '../../stack/poll-until.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function engineThat(answer: RequestListener, { connections = 4, timeoutMs = 60_000 } = {}): Promise<Engine> {
  const server: Server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const engine = new Engine({ url: `http://127.0.0.1:${port}`, timeoutMs, connections });
  cleanUps.push(
    async () => {
      server.closeAllConnections();
      server.close();
    },
    () => engine.close(),
  );
  return engine;
}

/**
 * Returns a client for an engine that does not respond, the calls that the client reports, and the number of calls that
 * have arrived.
 */
async function observedEngine(timeoutMs = 60_000) {
  let arrived = 0;
  const server = createServer(() => void (arrived += 1)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const reported: EngineCall[] = [];
  const engine = new Engine({ url, timeoutMs, connections: 1, observe: (call) => reported.push(call) });
  cleanUps.push(
    async () => {
      server.closeAllConnections();
      server.close();
    },
    () => engine.close(),
  );
  return { engine, server, reported, arrived: () => arrived };
}

it('does not report a call whose caller disconnects: the engine has not failed', async () => {
  const { engine, reported, arrived } = await observedEngine();
  const leaving = new AbortController();
  const call = engine.request({ method: 'GET', path: '/api/x', signal: leaving.signal });
  await pollUntil('the call to arrive', () => arrived() === 1);
  leaving.abort();
  expect(await failureOf(call)).toBe('interrupted');
  expect(reported).toEqual([]);
});

describe('the report of a call without a response', () => {
  const request = { name: 'moviesWF', version: 1, input: {}, correlationId: 'c' };
  const unanswered = { outcome: 'interrupted', endedEarly: false };

  it('says that the call ended early when its own deadline was shorter than half of the general timeout', async () => {
    const { engine, reported } = await observedEngine(400);
    await failureOf(engine.startWorkflow(request, 100));
    expect(reported).toMatchObject([{ ...unanswered, endedEarly: true }]);
  });

  it('does not say that the call ended early when its own deadline was half of the general timeout', async () => {
    const { engine, reported } = await observedEngine(400);
    await failureOf(engine.startWorkflow(request, 200));
    expect(reported).toMatchObject([unanswered]);
  });

  it.each([
    [2_000, 1_000],
    [3_000, 1_500],
    [30_000, 2_000],
  ])('general timeout of %i ms → a deadline of %i ms is no longer early', (generalTimeoutMs, ms) => {
    expect(conclusiveAfterMs(generalTimeoutMs)).toBe(ms);
  });

  it('does not say that the call ended early when the general timeout ended before the call’s deadline', async () => {
    const { engine, reported } = await observedEngine(100);
    await failureOf(engine.startWorkflow(request, 60_000));
    await failureOf(start(engine));
    expect(reported).toMatchObject([unanswered, unanswered]);
  });

  it('does not say that the call ended early when the connection broke before the call’s deadline', async () => {
    const { engine, server, reported, arrived } = await observedEngine();
    const call = failureOf(engine.startWorkflow(request, 30_000));
    await pollUntil('the call to arrive', () => arrived() === 1);
    server.closeAllConnections();
    await call;
    expect(reported).toMatchObject([unanswered]);
  });
});

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: EngineError) => error.kind,
  );
const start = (engine: Engine) => engine.startWorkflow({ name: 'moviesWF', version: 1, input: {}, correlationId: 'c' });

describe('a start', () => {
  it('returns the execution id', async () => {
    const engine = await engineThat((_request, response) => response.end('2f3c0a7e-6a55-4c0e-9d3f-0f5f4a5b6c7d'));
    expect(await start(engine)).toBe('2f3c0a7e-6a55-4c0e-9d3f-0f5f4a5b6c7d');
  });

  it.each(['', '<!doctype html><title>Bad gateway</title>', '{"well":"formed"}', '{"workflowId":"', 'x'.repeat(200)])(
    'whose response is 200 with something other than an id (%j): has an unknown outcome',
    async (body) => {
      expect(await failureOf(start(await engineThat((_request, response) => response.end(body))))).toBe('interrupted');
    },
  );
});

describe('an engine that does not respond', () => {
  it('a call ends at its deadline; a call that still waits for a connection does too, and is never sent', async () => {
    let arrived = 0;
    const engine = await engineThat(() => void (arrived += 1), { connections: 2 });
    const startedAt = performance.now();
    const request = { name: 'moviesWF', version: 1, input: {}, correlationId: 'c' };
    // Connections become free only when the first two calls end, which is after the deadlines of the other calls.
    const deadlines = [3_000, 3_000, 200, 200, 200, 200];
    const kinds = await Promise.all(deadlines.map((ms) => failureOf(engine.startWorkflow(request, ms))));
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    expect(kinds).toEqual([...Array(2).fill('interrupted'), ...Array(4).fill('unreachable')]);
    expect(arrived).toBe(2);
  });

  it('a start whose deadline is earlier than the general timeout ends at its deadline', async () => {
    const engine = await engineThat(() => undefined);
    const startedAt = performance.now();
    const request = { name: 'moviesWF', version: 1, input: {}, correlationId: 'c' };
    expect(await failureOf(engine.startWorkflow(request, 2_000))).toBe('interrupted');
    expect(performance.now() - startedAt).toBeLessThan(30_000);
  });

  it('an endless body that arrives in small pieces does not keep a call open', async () => {
    const drip: RequestListener = (_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write(' '), 50);
      response.on('close', () => clearInterval(timer));
    };
    const engine = await engineThat(drip, { timeoutMs: 2_000 });
    expect(await failureOf(start(engine))).toBe('interrupted');
  });
});

/** Returns a client for an engine with an https URL. */
async function engineAt(server: TcpServer): Promise<Engine> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const engine = new Engine({ url: `https://127.0.0.1:${port}`, timeoutMs: 60_000, connections: 1 });
  cleanUps.push(
    async () => void server.close(),
    () => engine.close(),
  );
  return engine;
}

/** Sends a call that fails with this connection error, either before or after the request starts. */
function callThatFails(error: { code: string; syscall: string }, { hasStarted = false } = {}): Promise<unknown> {
  const controller = {} as Dispatcher.DispatchController;
  const dispatcher = {
    dispatch(_options: unknown, handler: Dispatcher.DispatchHandler) {
      if (hasStarted) handler.onRequestStart?.(controller, null);
      handler.onResponseError?.(controller, Object.assign(new Error('x'), error));
    },
  };
  const request = { method: 'POST', path: '/api/workflow', timeoutMs: 60_000 } as const;
  return sendCall(dispatcher as unknown as Dispatcher, request);
}

describe('connection errors, before and after the request starts', () => {
  it.each([
    ['no connection', { code: 'ECONNREFUSED', syscall: 'connect' }],
    ['no file descriptor left', { code: 'EMFILE', syscall: 'connect' }],
    ['no port left', { code: 'EADDRNOTAVAIL', syscall: 'connect' }],
    ['reset while connecting', { code: 'ECONNRESET', syscall: 'connect' }],
  ])('%s: unreachable', async (_title, error) => {
    expect(await failureOf(callThatFails(error))).toBe('unreachable');
  });

  it('a certificate that is not trusted: unreachable', async () => {
    const certificate = makeCertificate();
    let arrived = 0;
    const server = createTlsServer({ key: certificate, cert: certificate }, () => void (arrived += 1));
    expect(await failureOf(start(await engineAt(server)))).toBe('unreachable');
    expect(arrived).toBe(0);
  });

  it('a TLS handshake that breaks off: unreachable', async () => {
    const server = createTcpServer((socket) => socket.once('data', () => socket.destroy()));
    expect(await failureOf(start(await engineAt(server)))).toBe('unreachable');
  });

  it.each([
    ['a connection that breaks later', { code: 'ECONNRESET', syscall: 'read' }],
    ['a route that is lost later', { code: 'EHOSTUNREACH', syscall: 'read' }],
  ])('%s: interrupted', async (_title, error) => {
    expect(await failureOf(callThatFails(error, { hasStarted: true }))).toBe('interrupted');
  });
});
