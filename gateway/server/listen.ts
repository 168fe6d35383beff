// Binds a server to its configured address.

import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/** Address on which a server listens. */
export interface ListenAddress {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** Configuration keys of the host and port, for the error message. */
  readonly keys: string;
}

/** Starts listening and returns the bound port. @throws Error that names the address and keys, if binding fails */
export async function listen(server: Server, { host, port, keys }: ListenAddress): Promise<number> {
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new Error(`cannot listen on ${host}:${port} (${keys}): ${(cause as Error).message}`, { cause });
  }
  return (server.address() as AddressInfo).port;
}
