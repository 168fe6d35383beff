// Sends one HTTP request to the engine and buffers the response, with one deadline and no retries.

import type { Dispatcher } from 'undici';
import { EngineError } from './engine-error.ts';
import { StringShortener } from './shorten-strings.ts';
import { startStopwatch } from './stopwatch.ts';

/** A request to the engine's API. */
export interface EngineRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS';
  /** Path and query, beginning with `/`. */
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  signal?: AbortSignal;
  /** Deadline in milliseconds, instead of the default deadline. */
  timeoutMs?: number;
  /** Strings of the JSON response are truncated to about this many bytes while they arrive. Default: not truncated. */
  longestString?: number;
}

/** A response with its complete body. */
export interface EngineResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
  /** Number of bytes received; more than `body` contains when strings were truncated. */
  received?: number;
}

/** Sends a request to the engine's API: `engine.request`, or the equivalent through the router. */
export type SendRequest = (request: EngineRequest) => Promise<EngineResponse>;

/**
 * Sends a request and returns the response, whatever its status.
 * @param dispatcher undici dispatcher for one origin
 * @throws EngineError `unreachable` when no connection could be made or none was free in time; `interrupted` for every
 *   other failure, including an abort by `signal` and a suspension of the process past the deadline
 */
export function sendCall(
  dispatcher: Dispatcher,
  { timeoutMs, signal, headers, longestString, ...call }: EngineRequest & { timeoutMs: number },
): Promise<EngineResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<EngineResponse>();
  const name = `${call.method} ${call.path.split('?', 1)[0]}`;
  const collector = new ResponseCollector({
    name,
    resolve,
    reject,
    signal,
    timeoutMs,
    shortener: longestString === undefined ? undefined : new StringShortener(longestString),
  });
  // The collector enforces the deadline: undici's timeouts start when the request has a connection, and restart with
  // each chunk.
  dispatcher.dispatch(
    { ...call, headers: { accept: 'application/json', ...headers }, headersTimeout: 0, bodyTimeout: 0 },
    collector,
  );
  return promise;
}

interface CollectorOptions {
  /** Method and path, for messages. */
  name: string;
  resolve: (response: EngineResponse) => void;
  reject: (error: EngineError) => void;
  signal: AbortSignal | undefined;
  /** Time in milliseconds from the call to the last byte of the response, including the wait for a connection. */
  timeoutMs: number;
  shortener: StringShortener | undefined;
}

/**
 * Buffers one response. undici's `request` would create a stream for each body, which is too costly for a few hundred
 * bytes.
 */
class ResponseCollector implements Dispatcher.DispatchHandler {
  readonly #options: CollectorOptions;
  readonly #deadline: NodeJS.Timeout;
  readonly #sinceCallMs = startStopwatch();
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #isLate = false;
  #status = 0;
  #received = 0;
  #headers: EngineResponse['headers'] = {};
  #abort: (() => void) | undefined;

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#deadline = setTimeout(() => this.#giveUp(), options.timeoutMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Nothing has been written yet, so a late request is never sent. After a suspension of the process, the timer may
    // not have fired yet.
    if (this.#isLate || this.#sinceCallMs() > this.#options.timeoutMs) return controller.abort(new Error('too late'));
    const { signal } = this.#options;
    if (signal === undefined) return;
    const abort = () => controller.abort(new Error('the caller has disconnected'));
    if (signal.aborted) return abort();
    this.#abort = abort;
    signal.addEventListener('abort', abort, { once: true });
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: EngineResponse['headers'],
  ): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#received += chunk.length;
    this.#chunks.push(this.#options.shortener?.push(chunk) ?? chunk);
  }

  onResponseEnd(): void {
    this.#release();
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#options.resolve({ status: this.#status, headers: this.#headers, body, received: this.#received });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#release();
    const { name, reject } = this.#options;
    if (error instanceof EngineError) return reject(error);
    // Without a connection, the request never starts: DNS, TCP or the TLS handshake has failed.
    const kind = this.#controller === undefined ? 'unreachable' : 'interrupted';
    reject(new EngineError(kind, `${name}: ${(error as { code?: string }).code || error.message}`, { cause: error }));
  }

  #giveUp(): void {
    const { name, timeoutMs, reject } = this.#options;
    this.#isLate = true;
    if (this.#controller === undefined)
      reject(new EngineError('unreachable', `${name}: no connection became free within ${timeoutMs} ms`));
    else this.#controller.abort(new EngineError('interrupted', `${name}: no response within ${timeoutMs} ms`));
  }

  #release(): void {
    clearTimeout(this.#deadline);
    if (this.#abort !== undefined) this.#options.signal?.removeEventListener('abort', this.#abort);
  }
}
