// Clients that hold a connection open as long as the router allows: each kind sends or reads as little as possible.

import { RawConnection } from './raw-client.ts';

const attackKinds = ['silent', 'slow-header', 'slow-body', 'slow-chunks', 'slow-reader', 'idle'] as const;
export type AttackKind = (typeof attackKinds)[number];

export interface Attacker {
  connection: RawConnection;
  stop(): void;
}

const everyMs = 100;

/** Opens `size` connections, using the kinds in turn. */
export function attackTogether(url: string, size: number, token: string): Attacker[] {
  return Array.from({ length: size }, (_, index) =>
    attack(url, attackKinds[index % attackKinds.length] as AttackKind, token),
  );
}

/** Opens one connection and starts the attack. */
export function attack(url: string, kind: AttackKind, token: string): Attacker {
  const connection = new RawConnection(url);
  const head = `POST /adaptor/001/mock/echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n`;
  const drip = (text: string) => setInterval(() => connection.send(text), everyMs);
  let timer: NodeJS.Timeout | undefined;
  if (kind === 'slow-header') {
    connection.send('GET /movies/x HTTP/1.1\r\nHost: a\r\nX-A: ');
    timer = drip('a');
  } else if (kind === 'slow-body') {
    connection.send(`${head}Content-Length: 100000\r\n\r\n`);
    timer = drip('a');
  } else if (kind === 'slow-chunks') {
    connection.send(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    timer = drip('1\r\na\r\n');
  } else if (kind === 'slow-reader') {
    connection.socket.pause();
    const target = '/adaptor/001/mock/faults/bytes/65536';
    connection.send(`GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  } else if (kind === 'idle') {
    connection.send('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
  }
  const stop = () => {
    clearInterval(timer);
    connection.destroy();
  };
  return { connection, stop };
}
