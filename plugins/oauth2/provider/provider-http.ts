// An HTTP client for the identity provider with bounded time, size and connections; it does not follow redirects.

import type { Dispatcher } from 'undici';
import { lookup } from '#lib/http/lookup.ts';
import { Agent, oneCallPerConnection } from '#lib/http/undici.ts';
import { isJsonObject } from '#lib/json/json-object.ts';
import { ProviderError } from './provider-error.ts';

/** Settings of {@link ProviderHttp}. */
export interface ProviderHttpOptions {
  /** Deadline of one call including the response body, in milliseconds. */
  timeoutMs: number;
  /** Maximum number of connections to one origin; further calls wait for a free one until their deadline. */
  connections: number;
}

/** One HTTP request to an endpoint of the identity provider. */
export interface ProviderRequest {
  method: 'GET' | 'POST';
  url: string;
  headers?: Record<string, string>;
  body?: string;
  /** Maximum size of the response body in bytes; a longer body makes the call fail. */
  maxBytes: number;
}

/** A response from the provider, of any status. */
export interface ProviderResponse {
  status: number;
  body: Buffer;
}

/** A pool of connections to the identity provider. A call that gets no complete response throws a ProviderError. */
export class ProviderHttp {
  readonly #agent: Agent;
  /** Errors of connections that could not be established, because DNS, TCP or the TLS handshake failed. */
  readonly #connectionErrors = new WeakSet<Error>();
  readonly #timeoutMs: number;

  constructor({ timeoutMs, connections }: ProviderHttpOptions) {
    this.#timeoutMs = timeoutMs;
    this.#agent = new Agent({
      ...oneCallPerConnection,
      connections,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      keepAliveTimeout: 20_000,
      connect: { timeout: timeoutMs, lookup },
    });
    this.#agent.on('connectionError', (_origin, _targets, error) => this.#connectionErrors.add(error));
  }

  /** Sends a request and returns the response, whatever its status. Redirects are not followed. */
  async request({ method, url, headers, body, maxBytes }: ProviderRequest): Promise<ProviderResponse> {
    const { origin, pathname, search } = new URL(url);
    const where = `${method} ${origin}${pathname}`;
    try {
      const response = await this.#agent.request({
        origin,
        path: `${pathname}${search}`,
        method,
        headers: { accept: 'application/json', ...headers },
        body: body ?? null,
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
      return { status: response.statusCode, body: await readAtMost(response, maxBytes, where) };
    } catch (error) {
      throw this.#toProviderError(error, where);
    }
  }

  /** Closes the connections and aborts calls in flight. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #toProviderError(error: unknown, where: string): ProviderError {
    if (error instanceof ProviderError) return error;
    const { name, code, message } = error as { name?: string; code?: string; message?: string };
    if (name === 'TimeoutError' || code?.endsWith('_TIMEOUT') === true) {
      return new ProviderError('timeout', `${where}: no response in time`, { cause: error });
    }
    const failure = this.#connectionErrors.has(error as Error) ? 'unreachable' : 'cut-off';
    return new ProviderError(failure, `${where}: ${code ?? message ?? 'failed'}`, { cause: error });
  }
}

async function readAtMost({ body }: Dispatcher.ResponseData, maxBytes: number, where: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  // Leaving the loop early destroys the body and its connection.
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes)
      throw new ProviderError('too-large', `${where}: the response is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

/**
 * Parses a response body as a JSON object.
 * @throws ProviderError `bad-answer` when the body is not a JSON object
 */
export function parseProviderResponse(body: Buffer, where: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    // The parser's message quotes the text, which may hold a token.
    throw new ProviderError('bad-answer', `${where}: the response is not JSON`);
  }
  if (!isJsonObject(value)) throw new ProviderError('bad-answer', `${where}: the response is not a JSON object`);
  return value;
}
