// Calls a back end: axios on keep-alive connections, one deadline over the whole call, the exact path, any status.

import http from 'node:http';
import https from 'node:https';
import axios, { type AxiosInstance, type AxiosRequestConfig } from 'axios';
import type { HeaderFields } from '#lib/envelope/headers.ts';
import { backoff, pause } from '../backoff.ts';
import { type BackEndFailure, toBackEndFailure, tooLate } from './back-end-failure.ts';
import { createTarget, type Target } from './request-target.ts';

export interface BackEndRequest {
  /** From the configuration; may carry a path. */
  base: string;
  /** Upper case. */
  method: string;
  /** Goes behind the base as it is. */
  path: string;
  /** Without `?`, as it is. */
  query?: string | undefined;
  /** Lower-case names. Nothing is added but framing, `host`, `connection` and `accept-encoding: identity`. */
  headers: HeaderFields;
  body: Buffer;
  /** Asked at the last moment before the request leaves. True: it must not leave any more. */
  isLate?: () => boolean;
}

/** Whatever the back end answered, redirects and errors included; the body as it came over the wire. */
export interface BackEndAnswer {
  status: number;
  headers: Record<string, unknown>;
  body: Buffer;
}

/** @throws BackEndFailure when there is no complete answer, TaskFailure when the path may not be called */
export type CallBackEnd = (request: BackEndRequest) => Promise<BackEndAnswer>;

export interface BackEndCallerOptions {
  /** Deadline of one call in milliseconds: connecting, retries and the last byte of the answer included. */
  timeoutMs: number;
  /** Largest answer in bytes. */
  maxAnswerBytes: number;
}

/** True for methods that may be sent again: they change nothing. */
export const isRead = (method: string) => method === 'GET' || method === 'HEAD';
/** Retries of a read whose connection failed, and the pauses before them in milliseconds. */
const maxRetries = 2;
const retryPause = { base: 100, max: 200 };
/**
 * Connections that were idle this long (milliseconds) are not used again: a back end that closes one at the moment
 * a write goes out would leave the outcome of that write unknown.
 */
const maxIdleMs = 4_000;

/** Sent only when the caller gives them: axios would add its own. */
const noDefaults = { accept: false, 'content-type': false, 'user-agent': false, 'accept-encoding': 'identity' };

/** Makes the caller of all back ends of a process. `close` ends idle connections. */
export function createBackEndCaller(options: BackEndCallerOptions): { call: CallBackEnd; close: () => void } {
  const httpAgent = new http.Agent({ keepAlive: true, timeout: maxIdleMs });
  const httpsAgent = new https.Agent({ keepAlive: true, timeout: maxIdleMs });
  const client = axios.create({
    httpAgent,
    httpsAgent,
    proxy: false,
    maxRedirects: 0,
    decompress: false,
    responseType: 'arraybuffer',
    maxContentLength: options.maxAnswerBytes,
    maxBodyLength: Infinity,
    transformRequest: [],
    transformResponse: [],
    validateStatus: () => true,
  });
  const close = () => {
    httpAgent.destroy();
    httpsAgent.destroy();
  };
  return { call: (request) => callWithRetries(client, request, options.timeoutMs), close };
}

async function callWithRetries(
  client: AxiosInstance,
  request: BackEndRequest,
  timeoutMs: number,
): Promise<BackEndAnswer> {
  const target = createTarget(request.base, request.path, request.query);
  // Not AbortSignal.timeout: its timer would outlive the call and make an error, stack and all, for each.
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  try {
    return await untilDeadline(client, request, { target, timeoutMs, signal: deadline.signal });
  } finally {
    clearTimeout(timer);
  }
}

async function untilDeadline(
  client: AxiosInstance,
  request: BackEndRequest,
  { target, timeoutMs, signal }: { target: Target; timeoutMs: number; signal: AbortSignal },
): Promise<BackEndAnswer> {
  const writes = !isRead(request.method);
  for (let failures = 1; ; failures++) {
    let failure: BackEndFailure;
    try {
      return await send(client, request, { target, signal });
    } catch (error) {
      failure = toBackEndFailure(error, { writes, timeoutMs, timedOut: signal.aborted });
    }
    if (writes || !failure.connectionLost || failures > maxRetries) throw failure;
    await pause(backoff(failures, retryPause), signal);
  }
}

async function send(
  client: AxiosInstance,
  { method, headers, body, isLate = () => false }: BackEndRequest,
  { target, signal }: { target: Target; signal: AbortSignal },
): Promise<BackEndAnswer> {
  const response = await client.request<Buffer>({
    url: target.origin,
    method,
    headers: { ...noDefaults, ...headers },
    // Node frames an absent body itself: `content-length: 0` for methods that carry one, nothing for GET.
    ...(body.length === 0 ? {} : { data: body }),
    signal,
    transport: exactTransport(target, isLate),
  } as AxiosRequestConfig);
  return { status: response.status, headers: { ...response.headers }, body: response.data };
}

/** Node's own client with the request target as it was given: a URL object would normalise it. */
function exactTransport({ origin, pathAndQuery }: Target, isLate: () => boolean): { request: typeof http.request } {
  const isSecure = origin.startsWith('https:');
  const { request } = isSecure ? https : http;
  const exact = (options: http.RequestOptions, callback: (response: http.IncomingMessage) => void) => {
    const sent = request({ ...options, path: pathAndQuery }, callback);
    const refuseWhenLate = () => {
      if (isLate()) sent.destroy(Object.assign(new Error('too late to send it'), { code: tooLate }));
    };
    // What is written before there is a connection leaves the moment there is one.
    sent.once('socket', (socket) => {
      refuseWhenLate();
      if (socket.connecting) socket.prependOnceListener(isSecure ? 'secureConnect' : 'connect', refuseWhenLate);
    });
    // Node drops the connection of a 101 that nobody asked for without a word, and axios would wait for ever.
    return sent.once('upgrade', (_response, socket) => {
      socket.destroy();
      sent.emit('error', Object.assign(new Error('101 Switching Protocols'), { code: 'HPE_PAUSED_UPGRADE' }));
    });
  };
  return { request: exact as typeof http.request };
}
