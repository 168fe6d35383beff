// A client on a raw socket that sends any bytes and parses responses strictly. An HTTP library would correct the
// malformed requests of the tests.

import { connect, type Socket } from 'node:net';
import { pollUntil } from '../stack/poll-until.ts';

export interface RawAnswer {
  status: number;
  /** Lower-case names; repeated fields joined by a comma. */
  headers: Record<string, string>;
  body: string;
}

/** Thrown when the connection ends before the next response. */
export class ConnectionEnded extends Error {}

export class RawConnection {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #ended = false;

  /** @param url URL of the router */
  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect(Number(port), hostname);
    this.socket.on('data', (chunk: Buffer) => (this.#received = Buffer.concat([this.#received, chunk])));
    const end = () => (this.#ended = true);
    this.socket.on('end', end).on('close', end).on('error', end);
  }

  send(bytes: Buffer | string): void {
    if (!this.socket.destroyed) this.socket.write(bytes);
  }

  /** True when the connection broke or the router has closed it. */
  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Returns the next response.
   * @param headOnly true for responses to HEAD, which have no body whatever their content-length
   * @throws ConnectionEnded when the connection ends first, Error when a response is not valid HTTP or does not arrive
   *   in time
   */
  answer({ timeoutMs = 30_000, headOnly = false } = {}): Promise<RawAnswer> {
    const take = () => {
      const found = takeAnswer(this.#received, headOnly);
      if (found === null && this.#ended)
        throw new ConnectionEnded(`after ${JSON.stringify(this.#received.toString('latin1'))}`);
      this.#received = this.#received.subarray(found?.length ?? 0);
      return found?.answer;
    };
    return pollUntil('a response', take, { timeoutMs, everyMs: 1 });
  }

  /** Waits until the router has closed the connection. */
  async end(timeoutMs = 30_000): Promise<void> {
    await pollUntil('the connection to be closed', () => this.#ended, { timeoutMs, everyMs: 1 });
  }

  destroy(): void {
    this.socket.destroy();
  }
}

/**
 * Sends bytes on a new connection and returns the first response. When the connection is closed without a response,
 * the returned status is 0.
 */
export async function sendRaw(url: string, bytes: Buffer | string): Promise<RawAnswer> {
  const connection = new RawConnection(url);
  connection.send(bytes);
  try {
    return await connection.answer();
  } catch (error) {
    if (error instanceof ConnectionEnded) return { status: 0, headers: {}, body: '' };
    throw error;
  } finally {
    connection.destroy();
  }
}

/**
 * Returns the first complete response in the received bytes; null when there is none.
 * @throws Error when the response is not in the router's HTTP format
 */
function takeAnswer(received: Buffer, headOnly: boolean): { answer: RawAnswer; length: number } | null {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [statusLine = '', ...lines] = received.toString('latin1', 0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [ -~]*$/.exec(statusLine)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) throw new Error(`not a status line: ${JSON.stringify(statusLine)}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+): ?([^\x00-\x08\x0a-\x1f\x7f]*)$/.exec(line) ?? [];
    if (name === '') throw new Error(`not a header field: ${JSON.stringify(line)}`);
    const lower = name.toLowerCase();
    headers[lower] = lower in headers ? `${headers[lower]}, ${value}` : value;
  }
  if (headers['transfer-encoding'] !== undefined) throw new Error('the router never sends chunks');
  const bodiless = headOnly || status < 200 || status === 204 || status === 304;
  const announced = Number(headers['content-length']);
  if (!bodiless && !Number.isInteger(announced)) throw new Error(`a ${status} response without content-length`);
  const length = bodiless ? 0 : announced;
  const from = end + 4;
  if (received.length < from + length) return null;
  const body = received.toString('utf8', from, from + length);
  return { answer: { status, headers, body }, length: from + length };
}
