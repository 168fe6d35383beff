// Starts and stops HTTP servers of the development stack, on the loopback address by default.

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A listening server. */
export interface LoopbackServer {
  /** `http://<host>:<port>` */
  readonly url: string;
  /**
   * Stops the server immediately and cuts off requests in flight: the stand-ins deliberately leave some of them without
   * a response.
   */
  close(): Promise<void>;
}

/** Address to listen on. */
export interface ListenOptions {
  /** TCP port; default 0, any free one. */
  port?: number | undefined;
  /** The environment variable that sets the port, named in the error. */
  variable?: string | undefined;
  /** Address to bind to; default 127.0.0.1. Containers bind to another address. */
  host?: string | undefined;
}

/**
 * Starts to listen on `host`.
 * @throws Error that names the port and its environment variable when the port is taken
 */
export async function listenOnLoopback(
  server: Server,
  { port = 0, variable, host = '127.0.0.1' }: ListenOptions = {},
): Promise<LoopbackServer> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isNamed = error.code === 'EADDRINUSE' && variable !== undefined;
      reject(isNamed ? new Error(`port ${port} is taken: set ${variable} to another one`, { cause: error }) : error);
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
