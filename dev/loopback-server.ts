// An HTTP server of the embedded stack: reachable from this machine only, unless told otherwise, and stopped without waiting for anybody.

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that listens. */
export interface LoopbackServer {
  /** `http://<host>:<port>` */
  readonly url: string;
  /** Ends it at once: requests in flight are cut, as these stand-ins hold some of them open for ever on purpose. */
  close(): Promise<void>;
}

/** Where to listen, and what to tell the user when that is not possible. */
export interface ListenOptions {
  /** TCP port; 0 = any free one. */
  port: number;
  /** The environment variable that sets the port, named in the error. */
  variable: string;
  /** Address to bind to; default 127.0.0.1. Another one is for a container, whose network is its fence. */
  host?: string | undefined;
}

/**
 * Binds a server to 127.0.0.1, unless `host` says otherwise.
 * @throws Error that names the port and its variable when the port is taken
 */
export async function listenOnLoopback(server: Server, options: ListenOptions): Promise<LoopbackServer> {
  const { port, variable, host = '127.0.0.1' } = options;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE';
      reject(isTaken ? new Error(`port ${port} is taken: set ${variable} to another one`, { cause: error }) : error);
    });
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host}:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
