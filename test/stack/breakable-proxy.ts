// A TCP proxy between two programs: tests can cut, freeze and repair it, so that real sockets break.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { findFreePort } from '../../dev/setup/ports.mjs';

interface Connection {
  readonly client: Socket;
  readonly upstream: Socket;
}

/** Starts a proxy on a free port that forwards everything to `target` (an http or redis URL). */
export async function startBreakableProxy(target: string) {
  const { protocol, hostname, port } = new URL(target);
  const connections = new Set<Connection>();
  const orphans = new Set<Socket>();
  let requestsFlow = true;
  let answersFlow = true;
  const applyTo = ({ client, upstream }: Connection) => {
    setFlow(client, upstream, requestsFlow);
    setFlow(upstream, client, answersFlow);
  };
  const set = (requests: boolean, answers: boolean) => {
    requestsFlow = requests;
    answersFlow = answers;
    for (const connection of connections) applyTo(connection);
  };
  const resetAll = () => {
    for (const connection of connections) {
      connections.delete(connection);
      reset(connection.client);
      reset(connection.upstream);
    }
    for (const orphan of orphans) reset(orphan);
  };
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const connection = { client, upstream };
    connections.add(connection);
    for (const socket of [client, upstream]) {
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        orphans.delete(socket);
        if (!connections.delete(connection)) return;
        client.destroy();
        upstream.destroy();
      });
    }
    applyTo(connection);
  });
  // The port is reserved, so that no other program takes it while the proxy is cut.
  const ownPort = await findFreePort();
  server.listen(ownPort, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    if (!server.listening) return;
    server.close();
    resetAll();
    await once(server, 'close');
  };
  return {
    url: `${protocol}//127.0.0.1:${ownPort}`,
    /** Resets every connection and refuses new ones. */
    cut: close,
    /** Keeps connections open and forwards nothing. */
    freeze: () => set(false, false),
    /** Keeps connections open and forwards only what clients send. */
    freezeAnswers: () => set(true, false),
    /** Ends a freeze and forwards the delayed bytes. */
    thaw: () => set(true, true),
    /**
     * Closes one end of every current connection without telling the other end: no FIN and no RST, as when a machine or
     * a firewall forgets the connections. Data that the other end still sends is discarded. New connections work.
     */
    loseEnd(end: 'client' | 'upstream') {
      for (const connection of connections) {
        connections.delete(connection);
        const { [end]: lost } = connection;
        const left = end === 'client' ? connection.upstream : connection.client;
        left.unpipe(lost);
        lost.unpipe(left);
        orphans.add(left.resume());
        lost.destroy();
      }
    },
    /** Number of half-open connections: connections with one end lost and the other still open. */
    get halfOpen() {
      return orphans.size;
    },
    /** Makes everything work again and resets earlier connections. */
    async repair() {
      resetAll();
      set(true, true);
      if (server.listening) return;
      server.listen(ownPort, '127.0.0.1');
      await once(server, 'listening');
    },
    stop: close,
  };
}

export type BreakableProxy = Awaited<ReturnType<typeof startBreakableProxy>>;

/**
 * Node 24 leaves a socket open forever, and spins at exit, when the socket is reset while it is ending. A socket that
 * is ending or has unwritten data is therefore closed instead.
 */
function reset(socket: Socket): void {
  if (socket.writableEnded || socket.writableLength > 0) socket.destroy();
  else socket.resetAndDestroy();
}

/** Forwards bytes from one socket to the other, or holds them back. */
function setFlow(from: Socket, to: Socket, flow: boolean): void {
  from.unpipe(to);
  if (flow) from.pipe(to);
  else from.pause();
}
