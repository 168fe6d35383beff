// A fake back end on a raw socket. It records every byte of each request and can respond with any bytes, or none.

import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** Handles a request by writing to the socket. */
export type Reaction = (socket: Socket, request: string) => void;

/** Returns a handler that responds to every request with the same bytes and keeps the connection. */
export function answers(text: string): Reaction {
  return (socket) => void socket.write(Buffer.from(text, 'latin1'));
}

/** Responds with a well-formed 200 response. */
export const ok = answers('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}');

/** Starts the back end on a free port. */
export async function startRawBackEnd(react: Reaction = ok) {
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      const request = completeRequest(received);
      if (request === null) return;
      received = received.slice(request.length);
      requests.push(request);
      react(socket, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    /** `http://127.0.0.1:<port>` */
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The received requests, head and body, as Latin-1. */
    requests,
    /** Number of accepted connections. */
    connections: () => connections,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type RawBackEnd = Awaited<ReturnType<typeof startRawBackEnd>>;

/** Returns the first request in the received bytes, by its Content-Length; null when it is still incomplete. */
function completeRequest(received: string): string | null {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(received.slice(0, end))?.[1] ?? 0);
  return received.length < end + 4 + length ? null : received.slice(0, end + 4 + length);
}
