// A back end on a bare socket: shows every byte of a request, and can answer with any bytes, or none.

import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

export interface RawBackEnd {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Each request as it came, head and body, Latin-1. */
  readonly requests: string[];
  /** Connections made so far. */
  readonly connections: () => number;
  stop(): Promise<void>;
}

/** Reacts to a request; writes to the socket whatever it likes. */
export type Reaction = (socket: Socket, request: string) => void;

/** Answers every request with the same bytes and keeps the connection. */
export function answers(text: string): Reaction {
  return (socket) => void socket.write(Buffer.from(text, 'latin1'));
}

/** An ordinary answer. */
export const ok = answers('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}');

/** Starts it on a free port. */
export async function startRawBackEnd(react: Reaction = ok): Promise<RawBackEnd> {
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
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    connections: () => connections,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The first request in what has come so far; its length must be said by Content-Length. */
function completeRequest(received: string): string | null {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(received.slice(0, end))?.[1] ?? 0);
  return received.length < end + 4 + length ? null : received.slice(0, end + 4 + length);
}
