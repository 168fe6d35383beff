// An HTTP proxy between two programs that records every request. It can respond in place of the server. It can also
// hold one request, either before the server receives it, or after the server has responded but before the client
// receives the response.

import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listenOnLoopback } from '../../dev/loopback-server.ts';

export interface RecordedRequest {
  readonly method: string;
  /** The request target as received, byte for byte. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A response in place of the server's. */
export interface StandInAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Gate {
  readonly chosen: (call: string) => boolean;
  readonly when: 'before' | 'after';
  readonly reached: PromiseWithResolvers<void>;
  readonly open: PromiseWithResolvers<void>;
}

/**
 * Starts a proxy on a free port. It forwards every request with its path and headers unchanged, except for Host.
 * @param targets http URLs, used round-robin, like a load balancer without affinity
 */
export async function startRecordingProxy(...targets: readonly string[]) {
  let turn = 0;
  let armed: Gate | undefined;
  let held: Gate | undefined;
  const pass = async (gate: Gate | undefined, when: Gate['when']) => {
    if (gate?.when !== when) return;
    held = gate;
    gate.reached.resolve();
    await gate.open.promise;
  };
  const server = createServer(async (incoming, response) => {
    const { method = '', url = '', headers } = incoming;
    const gate = armed?.chosen(`${method} ${url}`) === true ? armed : undefined;
    if (gate !== undefined) armed = undefined;
    const body = await buffer(incoming);
    proxy.requests.push({ method, target: url, headers, body: body.toString('utf8') });
    if (proxy.answer !== undefined) {
      response.writeHead(proxy.answer.status, proxy.answer.headers).end(proxy.answer.body);
      return;
    }
    await pass(gate, 'before');
    // If the client has disconnected, the held request is dropped, as on a cut connection.
    if (response.destroyed) return;
    const { hostname, port, host } = new URL(targets[turn++ % targets.length] as string);
    // Connections are not reused: the server could close one just as a request uses it, and the request would fail.
    const outgoing = httpRequest({ hostname, port, method, path: url, headers: { ...headers, host }, agent: false });
    outgoing.on('error', () => response.destroy());
    outgoing.on('response', async (answer) => {
      await pass(gate, 'after');
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    response.on('close', () => outgoing.destroy());
    outgoing.end(body);
  });
  // Upgrades and tunnels are recorded as requests, too.
  for (const event of ['upgrade', 'connect'] as const) {
    server.on(event, (incoming: IncomingMessage, socket) => {
      const { method = '', url = '', headers } = incoming;
      proxy.requests.push({ method, target: url, headers, body: '' });
      socket.destroy();
    });
  }
  // Only the client closes idle connections. If the proxy closed one just as a request arrived, the request would fail.
  server.keepAliveTimeout = 0;
  const { url, close } = await listenOnLoopback(server);
  const proxy = {
    url,
    requests: [] as RecordedRequest[],
    /** When set, every request gets this response and is not forwarded. */
    answer: undefined as StandInAnswer | undefined,
    /**
     * Holds the first request for which `chosen` returns true. The argument of `chosen` is a call such as
     * `POST /api/metadata/workflow`. Resolves when the request is held.
     */
    hold(chosen: Gate['chosen'], when: Gate['when']) {
      armed = { chosen, when, reached: Promise.withResolvers(), open: Promise.withResolvers() };
      return armed.reached.promise;
    },
    /** Forwards the held request, or its held response. */
    release() {
      held?.open.resolve();
      held = undefined;
    },
    async stop() {
      proxy.release();
      await close();
    },
  };
  return proxy;
}

export type RecordingProxy = Awaited<ReturnType<typeof startRecordingProxy>>;
