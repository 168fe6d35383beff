// The workers' only way to the engine: the router's /conductor/api, with their own access token.

import { Pool } from 'undici';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { sendCall } from '#lib/conductor/send-call.ts';
import { AccessToken, type IssuedToken } from './access-token.ts';

export interface RouterApiOptions {
  /** `conductor.apiURL`. */
  apiURL: string;
  clientId: string;
  clientSecret: string;
  /** Deadline of a call that says none itself, in milliseconds. */
  timeoutMs: number;
}

export interface ApiCall {
  method: 'GET' | 'POST';
  /** Path below the API's base, with its query. */
  path: string;
  body?: string;
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface ApiAnswer {
  status: number;
  text: string;
}

/** The router was not reached, or handed out no token. The message is short and fit for a log line. */
export class ApiUnavailable extends Error {
  override readonly name = 'ApiUnavailable';
}

/** Client of one router. Retries nothing but a call whose token was refused. */
export class RouterApi {
  readonly #options: RouterApiOptions;
  readonly #prefix: string;
  /** As many connections as there are calls: held polls take none away from updates. */
  readonly #pool: Pool;
  readonly #token = new AccessToken(() => this.#issueToken());

  constructor(options: RouterApiOptions) {
    const { origin, pathname } = new URL(options.apiURL);
    this.#options = options;
    this.#pool = new Pool(origin, { pipelining: 1, connect: { timeout: 2_000 } });
    this.#prefix = pathname.replace(/\/+$/, '');
  }

  /** Any answer of the router, whatever its status. @throws ApiUnavailable when there is none */
  async call(call: ApiCall): Promise<ApiAnswer> {
    const token = await this.#token.get();
    const answer = await this.#send(call, token);
    if (answer.status !== 401) return answer;
    this.#token.refuse(token);
    return this.#send(call, await this.#token.get());
  }

  /** Breaks off what is still under way. */
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
    if (status !== 200) throw new ApiUnavailable(`the token endpoint answered ${status}`);
    try {
      const issued = JSON.parse(text) as IssuedToken;
      if (typeof issued.token === 'string') return issued;
    } catch {
      // Not JSON: said below.
    }
    throw new ApiUnavailable('the token endpoint answered without a token');
  }

  async #send({ method, path, body, timeoutMs, signal }: ApiCall, token?: string): Promise<ApiAnswer> {
    try {
      const answer = await sendCall(this.#pool, {
        method,
        path: `${this.#prefix}${path}`,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === undefined ? {} : { 'x-authorization': token }),
        },
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
        timeoutMs: timeoutMs ?? this.#options.timeoutMs,
      });
      return { status: answer.status, text: answer.body.toString('utf8') };
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      throw new ApiUnavailable(error.message, { cause: error });
    }
  }
}
