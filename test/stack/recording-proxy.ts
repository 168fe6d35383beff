// An HTTP proxy between two of our programs that writes down every request. It can answer in the other's place, and hold
// one request: before the other side has seen it, or after the other side has done it and before we hear of it.

import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listenOnLoopback } from '../../dev/loopback-server.ts';

export interface RecordedRequest {
  readonly method: string;
  /** The request target as it came, byte for byte. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A response in the other's place. */
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
 * Listens on a free port and passes every request on, path and headers as they are.
 * @param targets http URLs, used round-robin: several are served as by a load balancer without affinity
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
    // Its client may be gone: what was held goes nowhere then, as on a cut connection.
    if (response.destroyed) return;
    const { hostname, port, host } = new URL(targets[turn++ % targets.length] as string);
    const outgoing = httpRequest({ hostname, port, method, path: url, headers: { ...headers, host } });
    outgoing.on('error', () => response.destroy());
    outgoing.on('response', async (answer) => {
      await pass(gate, 'after');
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    response.on('close', () => outgoing.destroy());
    outgoing.end(body);
  });
  // A tunnel would show as a request, too.
  for (const event of ['upgrade', 'connect'] as const) {
    server.on(event, (incoming: IncomingMessage, socket) => {
      const { method = '', url = '', headers } = incoming;
      proxy.requests.push({ method, target: url, headers, body: '' });
      socket.destroy();
    });
  }
  const { url, close } = await listenOnLoopback(server);
  const proxy = {
    url,
    requests: [] as RecordedRequest[],
    /** When set, every request gets this response and is not forwarded. */
    answer: undefined as StandInAnswer | undefined,
    /** Holds the first request for which this is true (`POST /api/metadata/workflow` …); resolves once it is held. */
    hold(chosen: Gate['chosen'], when: Gate['when']) {
      armed = { chosen, when, reached: Promise.withResolvers(), open: Promise.withResolvers() };
      return armed.reached.promise;
    },
    /** Forwards the held request. */
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
