// A small load balancer for HTTP in front of the routers: turns, health checks, and failover only for what never arrived.

import { once } from 'node:events';
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Target {
  readonly name: string;
  readonly url: string;
  /** Answers 200 when it should get requests. */
  readonly readyUrl: string;
}

/** A request whose connection to its target broke after it may have arrived. */
export interface Broken {
  readonly at: number;
  readonly target: string;
  /** The request's `X-Request-Id`. */
  readonly requestId: string | undefined;
}

export interface LoadBalancer {
  readonly url: string;
  readonly broken: readonly Broken[];
  stop(): Promise<void>;
}

interface State extends Target {
  isReady: boolean;
}
interface Incoming {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
}

const checkEveryMs = 500;
const checkTimeoutMs = 1_000;

/**
 * Requests go round-robin among the targets that are ready; when none is, among all, so that clients are told why. A target
 * that cannot be connected to hands its request on to the next; a request whose connection breaks later is not
 * repeated: its client's connection is closed.
 */
export async function startLoadBalancer(targets: readonly Target[]): Promise<LoadBalancer> {
  const states: State[] = targets.map((target) => ({ ...target, isReady: true }));
  const broken: Broken[] = [];
  let turn = 0;
  const inTurn = () => {
    turn += 1;
    const rotated = states.map((_, index) => states[(index + turn) % states.length] as State);
    return [...rotated.filter(({ isReady }) => isReady), ...rotated.filter(({ isReady }) => !isReady)];
  };
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray().catch(() => []));
    const incoming = { request, response, body };
    for (const target of inTurn()) {
      const ending = await pass(target, incoming);
      if (ending === 'answered') return;
      if (ending === 'broken') {
        const requestId = request.headers['x-request-id'] as string | undefined;
        broken.push({ at: performance.timeOrigin + performance.now(), target: target.name, requestId });
        return void response.destroy();
      }
      target.isReady = false;
    }
    refuse(response);
  });
  // Longer than the routers, whose connections are not kept.
  server.keepAliveTimeout = 70_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const check = () => void Promise.all(states.map(async (state) => (state.isReady = await isReady(state.readyUrl))));
  const timer = setInterval(check, checkEveryMs);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    broken,
    async stop() {
      clearInterval(timer);
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** `unreached` when no connection was made; then nothing has been sent. */
function pass({ url }: Target, { request, response, body }: Incoming): Promise<'answered' | 'broken' | 'unreached'> {
  const { promise, resolve } = Promise.withResolvers<'answered' | 'broken' | 'unreached'>();
  const { connection: _hop, 'transfer-encoding': _coding, ...headers } = request.headers;
  // A new connection each time: on one that was kept, nobody knows whether a request arrived.
  const outgoing = httpRequest(`${url}${request.url}`, {
    agent: false,
    ...(request.method === undefined ? {} : { method: request.method }),
    headers: {
      ...headers,
      'x-forwarded-for': request.socket.remoteAddress ?? '',
      ...(body.length === 0 ? {} : { 'content-length': body.length }),
    },
  });
  let isConnected = false;
  outgoing.on('socket', (socket) => socket.once('connect', () => (isConnected = true)));
  outgoing.on('error', () => resolve(isConnected ? 'broken' : 'unreached'));
  outgoing.on('response', (answer) => {
    const { connection: _own, 'transfer-encoding': _chunked, ...fields } = answer.headers;
    response.writeHead(answer.statusCode ?? 502, fields);
    answer.pipe(response);
    answer.on('end', () => resolve('answered'));
    answer.on('close', () => resolve(answer.complete ? 'answered' : 'broken'));
  });
  // Its client has gone: the router learns of it, and nobody is to blame.
  response.on('close', () => {
    if (response.writableFinished) return;
    resolve('answered');
    outgoing.destroy();
  });
  outgoing.end(body);
  return promise;
}

function refuse(response: ServerResponse): void {
  const problem = { type: '/problems/no-router', title: 'No router can be reached', status: 503 };
  response.writeHead(503, { 'content-type': 'application/problem+json', 'retry-after': '1' });
  response.end(JSON.stringify(problem));
}

async function isReady(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(checkTimeoutMs) }).then(
    async (answer) => {
      await answer.arrayBuffer();
      return answer.ok;
    },
    () => false,
  );
}
