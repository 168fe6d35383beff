// A TCP proxy whose connections can be left half-open: one end goes, the other is not told, as when a machine or a
// stateful firewall in between forgets them. No FIN and no RST; new connections work.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface HalfOpenProxy {
  /** http URL, whatever the protocol. */
  readonly url: string;
  /** Which end of every connection of now goes; what the other end still sends is swallowed. */
  lose(end: 'client' | 'server'): void;
  /** Connections whose one end has gone and whose other end has not been closed yet. */
  readonly halfOpen: number;
  stop(): Promise<void>;
}

/** Listens on a free port and passes everything to `target` (an http URL). */
export async function startHalfOpenProxy(target: string): Promise<HalfOpenProxy> {
  const { hostname, port } = new URL(target);
  const connections = new Set<{ readonly client: Socket; readonly server: Socket }>();
  const orphans = new Set<Socket>();
  const listener = createServer({ allowHalfOpen: false }, (client) => {
    const server = connect(Number(port), hostname);
    const connection = { client, server };
    connections.add(connection);
    client.pipe(server);
    server.pipe(client);
    for (const socket of [client, server]) {
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        orphans.delete(socket);
        if (!connections.delete(connection)) return;
        client.destroy();
        server.destroy();
      });
    }
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    lose(end) {
      for (const connection of connections) {
        connections.delete(connection);
        const [lost, left] =
          end === 'client' ? [connection.client, connection.server] : [connection.server, connection.client];
        left.unpipe(lost);
        lost.unpipe(left);
        lost.destroy();
        orphans.add(left);
        left.resume();
      }
    },
    get halfOpen() {
      return orphans.size;
    },
    async stop() {
      listener.close();
      for (const { client, server } of connections) for (const socket of [client, server]) socket.destroy();
      for (const socket of orphans) socket.destroy();
      await once(listener, 'close');
    },
  };
}
