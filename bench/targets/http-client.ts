// The HTTP client of the bench: keep-alive connections, one for each client of the loop.

import { Pool } from 'undici';

export interface Call {
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: string;
}

/** Client of one origin. */
export class HttpClient {
  readonly #pool: Pool;

  /** @param connections at least as many as there are requests in flight */
  constructor(origin: string, connections: number) {
    this.#pool = new Pool(origin, { connections, pipelining: 1, headersTimeout: 120_000, bodyTimeout: 120_000 });
  }

  /** Returns the body of a 2xx response. @throws Error for any other status */
  async text({ method = 'GET', path, headers, body }: Call): Promise<string> {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await this.#pool.request({ method, path, headers: { ...type, ...headers }, body: body ?? null });
    const text = await response.body.text();
    if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${text.slice(0, 200)}`);
    return text;
  }

  /** Returns the body of a 2xx response as parsed JSON. @throws Error for any other status */
  async json<T>(call: Call): Promise<T> {
    return JSON.parse(await this.text(call)) as T;
  }

  /** Closes the connections when the calls in flight have ended. */
  async close(): Promise<void> {
    await this.#pool.close();
  }

  /** Closes the connections at once and aborts calls in flight. */
  async destroy(): Promise<void> {
    await this.#pool.destroy();
  }
}
