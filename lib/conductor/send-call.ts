// One call of the engine's API over HTTP: the whole answer in memory, one deadline, no retries.

import type { Dispatcher } from 'undici';
import { EngineError, toEngineError } from './engine-error.ts';
import { StringShortener } from './shorten-strings.ts';
import { startStopwatch } from './stopwatch.ts';

/** A call as it goes over the wire. */
export interface EngineRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path and query, beginning with `/`. */
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  signal?: AbortSignal;
  /** Deadline that replaces the usual one, in milliseconds. */
  timeoutMs?: number;
  /** Strings of the JSON that is answered are cut to about so many bytes while they arrive; whole when absent. */
  longestString?: number;
}

/** An answer with its body read. */
export interface EngineResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
  /** Bytes that came: more than `body` has when its strings were cut. */
  received?: number;
}

/**
 * Sends it and reads the answer, whatever its status.
 * @param dispatcher of one origin
 * @throws EngineError `unreachable` or `interrupted`
 */
export function sendCall(
  dispatcher: Dispatcher,
  { timeoutMs, signal, headers, longestString, ...call }: EngineRequest & { timeoutMs: number },
): Promise<EngineResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<EngineResponse>();
  const name = `${call.method} ${call.path.split('?', 1)[0]}`;
  const answer = new AnswerCollector({
    name,
    resolve,
    reject: (error) => reject(toEngineError(error, name)),
    signal,
    timeoutMs,
    shortener: longestString === undefined ? undefined : new StringShortener(longestString),
  });
  // The collector keeps the deadline: undici's begin only when the call has a connection, and again with each chunk.
  dispatcher.dispatch(
    { ...call, headers: { accept: 'application/json', ...headers }, headersTimeout: 0, bodyTimeout: 0 },
    answer,
  );
  return promise;
}

interface CollectorOptions {
  /** The call, for messages. */
  name: string;
  resolve: (response: EngineResponse) => void;
  reject: (error: Error) => void;
  signal: AbortSignal | undefined;
  /** From now to the last byte of the answer, waiting for a connection included. */
  timeoutMs: number;
  shortener: StringShortener | undefined;
}

/** Gathers one answer. Undici's own `request` makes a stream of each body: too much for a few hundred bytes. */
class AnswerCollector implements Dispatcher.DispatchHandler {
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
    // Nothing has been written yet: a call that came too late never leaves. After a suspension its timer may still be due.
    if (this.#isLate || this.#sinceCallMs() > this.#options.timeoutMs) return controller.abort(new Error('too late'));
    this.#controller = controller;
    const { signal } = this.#options;
    if (signal === undefined) return;
    const abort = () => controller.abort(new Error('the caller has gone'));
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
    this.#options.reject(error);
  }

  #giveUp(): void {
    const { name, timeoutMs, reject } = this.#options;
    this.#isLate = true;
    if (this.#controller === undefined)
      reject(new EngineError('unreachable', `${name}: no connection was free for ${timeoutMs} ms`));
    else this.#controller.abort(new EngineError('interrupted', `${name}: no answer within ${timeoutMs} ms`));
  }

  #release(): void {
    clearTimeout(this.#deadline);
    if (this.#abort !== undefined) this.#options.signal?.removeEventListener('abort', this.#abort);
  }
}
