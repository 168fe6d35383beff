// Keep-alive HTTP connections that cost the sender almost no CPU time: they read only the status and a few header
// fields of a response.

import { connect, type Socket } from 'node:net';

/** The parts of a response that a bench reads. */
export interface HttpResponse {
  /** 0 when the connection broke. */
  readonly status: number;
  readonly retryAfter: boolean;
}

interface Connection {
  readonly socket: Socket;
  received: Buffer;
  done: ((response: HttpResponse) => void) | undefined;
}

const headEnd = Buffer.from('\r\n\r\n');

export class HttpConnections {
  readonly #address: { host: string; port: number };
  readonly #idle: Connection[] = [];
  readonly #all = new Set<Connection>();

  constructor({ host, port }: { host: string; port: number }) {
    this.#address = { host, port };
  }

  /** Sends a request on an idle connection, or on a new one. `done` is called once. */
  send(bytes: Buffer, done: (response: HttpResponse) => void): void {
    const connection = this.#idle.pop() ?? this.#open();
    connection.done = done;
    connection.socket.write(bytes);
  }

  close(): void {
    for (const { socket } of this.#all) socket.destroy();
  }

  #open(): Connection {
    const socket = connect({ ...this.#address, noDelay: true });
    const connection: Connection = { socket, received: Buffer.alloc(0), done: undefined };
    this.#all.add(connection);
    socket.on('data', (chunk: Buffer) => this.#receive(connection, chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.#all.delete(connection);
      const index = this.#idle.indexOf(connection);
      if (index !== -1) this.#idle.splice(index, 1);
      connection.done?.({ status: 0, retryAfter: false });
      connection.done = undefined;
    });
    return connection;
  }

  #receive(connection: Connection, chunk: Buffer): void {
    connection.received = connection.received.length === 0 ? chunk : Buffer.concat([connection.received, chunk]);
    const end = connection.received.indexOf(headEnd);
    if (end === -1) return;
    const head = connection.received.toString('latin1', 0, end).toLowerCase();
    const length = Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0);
    if (connection.received.length < end + headEnd.length + length) return;
    connection.received = Buffer.alloc(0);
    const { done } = connection;
    connection.done = undefined;
    if (head.includes('\r\nconnection: close')) connection.socket.destroy();
    else this.#idle.push(connection);
    done?.({ status: Number(head.slice(9, 12)), retryAfter: head.includes('\r\nretry-after: ') });
  }
}
