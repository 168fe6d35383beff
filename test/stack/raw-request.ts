// One request as bytes on a socket: HTTP clients repair what a test wants to break.

import { connect } from 'node:net';

export interface RawAnswer {
  /** Status of the first response; 0 when the connection was closed without one. */
  readonly status: number;
  /** Everything that came back. */
  readonly text: string;
}

/** Sends `bytes` and reads one whole response: by its length, else until the other side closes, or for `timeoutMs`. */
export function sendRaw(url: string, bytes: string | Buffer, timeoutMs = 5_000): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host: hostname, port: Number(port) });
    const settle = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ status: Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0), text });
    };
    const timer = setTimeout(settle, timeoutMs);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (isWhole(text)) settle();
    });
    socket.on('error', settle);
    socket.on('close', settle);
    // Not ended: a client that half-closes counts as gone.
    socket.write(bytes);
  });
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text.slice(0, end + 2))?.[1];
  return end !== -1 && length !== undefined && text.length - end - 4 >= Number(length);
}
