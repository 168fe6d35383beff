// An HTTP proxy between two of our programs that writes down every request, and can answer in the other's place.

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

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

export interface RecordingProxy {
  readonly url: string;
  readonly requests: RecordedRequest[];
  /** When set, every request is answered with this and passed on to nobody. */
  answer: StandInAnswer | undefined;
  stop(): Promise<void>;
}

/** Listens on a free port and passes every request to `target` (an http URL), path and headers as they are. */
export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const { hostname, port } = new URL(target);
  const server = createServer(async (incoming, response) => {
    const body = await readAll(incoming);
    const { method = '', url = '', headers } = incoming;
    proxy.requests.push({ method, target: url, headers, body: body.toString('utf8') });
    if (proxy.answer !== undefined) {
      response.writeHead(proxy.answer.status, proxy.answer.headers).end(proxy.answer.body);
      return;
    }
    const outgoing = httpRequest({
      hostname,
      port,
      method,
      path: url,
      headers: { ...headers, host: `${hostname}:${port}` },
    });
    outgoing.on('error', () => response.destroy());
    outgoing.on('response', (answer) => {
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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: RecordingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    answer: undefined,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}

async function readAll(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
