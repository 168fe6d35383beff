// The workers' HTTP client for the router's task API (/conductor/api). It authenticates with an access token.

import { lookup } from '#lib/http/lookup.ts';
import { oneCallPerConnection, Pool } from '#lib/http/undici.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { sendCall } from '#lib/conductor/send-call.ts';
import { AccessToken, type IssuedToken } from './access-token.ts';

/** Options of {@link RouterApi}. */
export interface RouterApiOptions {
  /** Address of the task API: `conductor.apiURL`. */
  apiURL: string;
  clientId: string;
  clientSecret: string;
  /** Default timeout of a call, in milliseconds. */
  timeoutMs: number;
}

/** One call to the task API. */
export interface ApiCall {
  method: 'GET' | 'POST';
  /** Path below the API's base, with the query. */
  path: string;
  body?: string;
  /** Media type of the body; default: JSON. */
  type?: string;
  /** Timeout of this call, in milliseconds; default: that of the client. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** A response from the task API. */
export interface ApiResponse {
  status: number;
  text: string;
}

/** Thrown when the router is unreachable or issued no token. The message is short enough for a log line. */
export class ApiUnavailable extends Error {
  override readonly name = 'ApiUnavailable';
}

/** A client of one router. It retries a call only when the token was rejected with 401. */
export class RouterApi {
  readonly #options: RouterApiOptions;
  readonly #prefix: string;
  /** Opens as many connections as there are concurrent calls, so held polls do not block updates. */
  readonly #pool: Pool;
  readonly #token = new AccessToken(() => this.#issueToken());

  constructor(options: RouterApiOptions) {
    const { origin, pathname } = new URL(options.apiURL);
    this.#options = options;
    this.#pool = new Pool(origin, { ...oneCallPerConnection, connect: { timeout: 2_000, lookup } });
    this.#prefix = pathname.replace(/\/+$/, '');
  }

  /**
   * Sends a call and returns the router's response, whatever its status. After a 401, it retries once with a new token.
   * @throws ApiUnavailable when there is no response or no token
   */
  async call(call: ApiCall): Promise<ApiResponse> {
    const token = await this.#token.get();
    const response = await this.#send(call, token);
    if (response.status !== 401) return response;
    this.#token.invalidate(token);
    return this.#send(call, await this.#token.get());
  }

  /** Closes all connections and aborts calls in progress. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #issueToken(): Promise<IssuedToken> {
    const { clientId: keyId, clientSecret: keySecret } = this.#options;
    const { status, text } = await this.#send({
      method: 'POST',
      path: '/token',
      body: JSON.stringify({ keyId, keySecret }),
    });
    if (status !== 200) throw new ApiUnavailable(`the token endpoint responded with status ${status}`);
    try {
      const issued = JSON.parse(text) as IssuedToken;
      if (typeof issued.token === 'string') return issued;
    } catch {
      // Not JSON: the error below covers it.
    }
    throw new ApiUnavailable('the token endpoint returned no token');
  }

  async #send({ method, path, body, type, timeoutMs, signal }: ApiCall, token?: string): Promise<ApiResponse> {
    try {
      const response = await sendCall(this.#pool, {
        method,
        path: `${this.#prefix}${path}`,
        headers: {
          ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
          ...(token === undefined ? {} : { 'x-authorization': token }),
        },
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
        timeoutMs: timeoutMs ?? this.#options.timeoutMs,
      });
      return { status: response.status, text: response.body.toString('utf8') };
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      throw new ApiUnavailable(error.message, { cause: error });
    }
  }
}
