// An HTTP client for back ends: keep-alive connections for reads, one deadline per call, retries of reads, unmodified
// paths.

import http from 'node:http';
import https from 'node:https';
import axios, { type AxiosInstance, type AxiosRequestConfig } from 'axios';
import type { HeaderFields } from '#lib/envelope/headers.ts';
import { lookup } from '#lib/http/lookup.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import { backoff, pause } from '../backoff.ts';
import { type BackEndFailure, toBackEndFailure, taskExpiredCode } from './back-end-failure.ts';
import { createTarget, type Target } from './request-target.ts';

/** One HTTP request to a back end. */
export interface BackEndRequest {
  /** Base URL from the configuration; may have a path. */
  base: string;
  /** Method, in upper case. */
  method: string;
  /** Path, appended to the base unchanged. */
  path: string;
  /** Query without `?`, sent unchanged. */
  query?: string | undefined;
  /** Lower-case names. The client adds only framing, `host`, `connection` and `accept-encoding: identity`. */
  headers: HeaderFields;
  body: Buffer;
  /** Called immediately before the request is sent. When it returns true, the request is not sent. */
  isLate?: () => boolean;
}

/**
 * A response from a back end with any status, redirects and errors included. The body contains the bytes as received.
 */
export interface BackEndResponse {
  status: number;
  headers: Record<string, unknown>;
  body: Buffer;
}

/**
 * Sends a request and returns the response.
 * @throws BackEndFailure when there is no complete response
 * @throws TaskFailure when the path is not allowed
 */
export type CallBackEnd = (request: BackEndRequest) => Promise<BackEndResponse>;

/** Time and size limits of every call. */
export interface BackEndCallerOptions {
  /** Time limit for one call in milliseconds, from connecting to the last byte of the response, retries included. */
  timeoutMs: number;
  /** Largest response body in bytes. */
  maxResponseBytes: number;
}

/** Maximum number of retries of a read whose connection failed, and the pauses between them in milliseconds. */
const maxRetries = 2;
const retryPause = { base: 100, max: 200 };
/** Idle connections are closed after this many milliseconds. */
const maxIdleMs = 4_000;

/** Keeps axios from adding its own values for these headers. */
const suppressedHeaders = { accept: false, 'content-type': false, 'user-agent': false, 'accept-encoding': 'identity' };

/** Creates the client for all back ends of a process. `close` closes its connections. */
export function createBackEndCaller(options: BackEndCallerOptions): { call: CallBackEnd; close: () => void } {
  const readClient = createClient({ keepAlive: true, timeout: maxIdleMs, lookup }, options);
  // Writes do not use idle connections: if the back end closes a connection while a write is being sent on it, the
  // outcome of the write is unknown.
  const writeClient = createClient({ keepAlive: false, lookup }, options);
  const close = () => {
    readClient.close();
    writeClient.close();
  };
  const call: CallBackEnd = (request) => {
    const { client } = isSafeMethod(request.method) ? readClient : writeClient;
    return callWithRetries(client, request, options.timeoutMs);
  };
  return { call, close };
}

function createClient(
  agentOptions: http.AgentOptions,
  { maxResponseBytes }: BackEndCallerOptions,
): { client: AxiosInstance; close: () => void } {
  const httpAgent = new http.Agent(agentOptions);
  const httpsAgent = new https.Agent(agentOptions);
  const client = axios.create({
    httpAgent,
    httpsAgent,
    proxy: false,
    maxRedirects: 0,
    decompress: false,
    responseType: 'arraybuffer',
    maxContentLength: maxResponseBytes,
    maxBodyLength: Infinity,
    transformRequest: [],
    transformResponse: [],
    validateStatus: () => true,
  });
  const close = () => {
    httpAgent.destroy();
    httpsAgent.destroy();
  };
  return { client, close };
}

async function callWithRetries(
  client: AxiosInstance,
  request: BackEndRequest,
  timeoutMs: number,
): Promise<BackEndResponse> {
  const target = createTarget(request.base, request.path, request.query);
  // AbortSignal.timeout is not used: its timer outlives the call and creates an error with a stack for each call.
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  try {
    return await sendUntilDeadline(client, request, { target, timeoutMs, signal: deadline.signal });
  } finally {
    clearTimeout(timer);
  }
}

async function sendUntilDeadline(
  client: AxiosInstance,
  request: BackEndRequest,
  { target, timeoutMs, signal }: { target: Target; timeoutMs: number; signal: AbortSignal },
): Promise<BackEndResponse> {
  const writes = !isSafeMethod(request.method);
  for (let failures = 1; ; failures++) {
    let failure: BackEndFailure;
    let sent = false;
    const onSend = () => {
      sent = true;
    };
    try {
      return await send(client, request, { target, signal, onSend });
    } catch (error) {
      failure = toBackEndFailure(error, { writes, timeoutMs, timedOut: signal.aborted, sent });
    }
    if (writes || !failure.connectionLost || failures > maxRetries) throw failure;
    await pause(backoff(failures, retryPause), signal);
    if (signal.aborted) throw failure;
  }
}

async function send(
  client: AxiosInstance,
  { method, headers, body, isLate = () => false }: BackEndRequest,
  { target, signal, onSend }: { target: Target; signal: AbortSignal; onSend: () => void },
): Promise<BackEndResponse> {
  const response = await client.request<Buffer>({
    url: target.origin,
    method,
    headers: { ...suppressedHeaders, ...headers },
    // Node itself frames a request without a body: `content-length: 0` for methods that have a body, nothing for GET.
    ...(body.length === 0 ? {} : { data: body }),
    signal,
    transport: exactTransport(target, { isLate, onSend }),
  } as AxiosRequestConfig);
  return { status: response.status, headers: { ...response.headers }, body: response.data };
}

/** Callbacks that the transport calls once it has a connection, before it sends the first byte of the request. */
interface SendHooks {
  /** Returns true when it is too late to send the request. */
  isLate: () => boolean;
  /** Called when the request is about to be sent. For `https:`, the TLS handshake is complete. */
  onSend: () => void;
}

/**
 * Returns Node's HTTP client, changed to send the request target unmodified. A URL object would normalise the target.
 */
function exactTransport(
  { origin, pathAndQuery }: Target,
  { isLate, onSend }: SendHooks,
): { request: typeof http.request } {
  const isSecure = origin.startsWith('https:');
  const { request } = isSecure ? https : http;
  const exact = (options: http.RequestOptions, callback: (response: http.IncomingMessage) => void) => {
    const clientRequest = request({ ...options, path: pathAndQuery }, callback);
    const abortWhenLate = (): boolean => {
      const late = isLate();
      if (late) clientRequest.destroy(Object.assign(new Error('the task has expired'), { code: taskExpiredCode }));
      return late;
    };
    const sendUnlessLate = () => {
      if (!abortWhenLate()) onSend();
    };
    // Bytes written before the connection exists are sent as soon as it exists, so the check runs again at that moment.
    clientRequest.once('socket', (socket) => {
      if (!socket.connecting) return sendUnlessLate();
      abortWhenLate();
      socket.prependOnceListener(isSecure ? 'secureConnect' : 'connect', sendUnlessLate);
    });
    // After an unsolicited 101, Node destroys the connection without an error, and axios would wait indefinitely.
    return clientRequest.once('upgrade', (_response, socket) => {
      socket.destroy();
      clientRequest.emit('error', Object.assign(new Error('101 Switching Protocols'), { code: 'HPE_PAUSED_UPGRADE' }));
    });
  };
  return { request: exact as typeof http.request };
}
