// An HTTP proxy that sends each request to the next of several routers, as a load balancer without affinity.

import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface AlternatingProxy {
  readonly url: string;
  stop(): Promise<void>;
}

/** Listens on a free port. @param targets http URLs, used round-robin */
export async function startAlternatingProxy(targets: readonly string[]): Promise<AlternatingProxy> {
  let turn = 0;
  const server = createServer((incoming, response) => {
    const { hostname, port } = new URL(targets[turn++ % targets.length] as string);
    const { method, url: path, headers } = incoming;
    const outgoing = httpRequest({ hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
