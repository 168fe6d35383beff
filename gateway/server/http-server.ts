// The public HTTP server: connection limits, request guard, access log and graceful shutdown.

import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { once } from 'node:events';
import type { Registry } from 'prom-client';
import { Attachment } from '#lib/gc/attachment.ts';
import { digestsOf } from '#lib/process/watch-files.ts';
import type { Problem } from '#lib/problem/problem.ts';
import type { AccessLog } from './access-log.ts';
import { respondWithProblem } from './respond-with-problem.ts';
import { Connection, type Exchange } from './connection.ts';
import { ClientAddresses } from '../plugin-api/client-address.ts';
import { Connections } from './connections.ts';
import { setContext } from '../plugin-api/request-context.ts';
import { listen } from './listen.ts';
import { OpenRequests } from './open-requests.ts';
import { connectRefusal, problemOfParserError, refuseOnSocket } from './refusals.ts';
import type { MessageClasses } from './express-messages.ts';
import { setContinueSender } from '../plugin-api/read-body.ts';
import { checkRequest, requestIdOf } from './request-guard.ts';
import { createTlsServer, pathsOf, watchCertificate, type TlsOptions } from './tls.ts';

/**
 * Limits on clients; times in milliseconds. A reload can change them, except for the deadline of TLS handshakes, which
 * keeps the `headersTimeoutMs` with which the server started.
 */
export interface ServerLimits {
  /** Maximum number of open connections. */
  maxConnections: number;
  /** Maximum number of open connections per client network; trusted proxies are exempt. No limit when absent. */
  maxConnectionsPerAddress?: number | undefined;
  /** Time from the first byte of a request, or from the opening of its connection, to the end of its header. */
  headersTimeoutMs: number;
  /** Time from the first byte of a request to the last byte of its body. */
  requestTimeoutMs: number;
  /** Time that an idle connection stays open after a response. */
  keepAliveTimeoutMs: number;
  /** Time that a client has to read a response once the router has written all of it. */
  responseTimeoutMs: number;
}

/** Options of {@link startHttpServer}. */
export interface HttpServerOptions {
  host: string;
  /** 0 = any free port. */
  port: number;
  /** Handles a request that has passed the guard; for example an Express application. */
  app: (request: IncomingMessage, response: ServerResponse) => void;
  /** May reject a request that has passed the guard, before `app` sees it. @throws Problem */
  shedLoad?: (request: IncomingMessage) => void;
  /** Request and response classes; default: Node's. */
  messages?: MessageClasses;
  /** Determines the client address of a request; default: no proxy is trusted. */
  clientAddresses?: ClientAddresses;
  accessLog: AccessLog;
  metrics: Registry;
  limits: ServerLimits;
  /** Serves HTTPS instead of HTTP. */
  tls?: TlsOptions | undefined;
}

/** A server that listens on the public port. */
export interface HttpServer {
  readonly url: string;
  /** Applies changed limits to Node's server, which keeps copies of its timeouts. */
  applyLimits(): void;
  /**
   * Stops gracefully. Waits for the requests in flight, and meanwhile serves new ones, such as reports from workers.
   * Then waits for the new requests that are still in flight. Finally stops listening and destroys the
   * remaining connections. Later calls return the promise of the first call.
   * @param drainMs maximum duration of both waits together, in milliseconds
   */
  stop(drainMs: number): Promise<void>;
}

/** Starts listening. @throws Error that names the address that cannot be bound, or the TLS files that cannot be used */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port, app, shedLoad, messages, accessLog, metrics, limits, tls } = options;
  const { clientAddresses = new ClientAddresses(() => []) } = options;
  const open = new OpenRequests();
  const { server, scheme, stopTls } = await createListener({ ...nodeLimits(limits), ...messages }, limits, tls);
  const connections = new Connections(limits, metrics, (address) => clientAddresses.isTrusted(address));
  attachConnections(server, connections, ({ request, response }) => {
    const requestId = requestIdOf(request);
    const clientAddress = clientAddresses.of(request);
    setContext(request, { requestId, clientAddress, receivedAt: performance.now(), route: 'none' });
    accessLog(request, response);
    connections.requestStarted(request.socket, response);
    open.add(response);
    try {
      checkRequest(request);
      deferContinue(request, response);
      shedLoad?.(request);
    } catch (error) {
      respondWithProblem(request, response, error);
      return;
    }
    response.setHeader('x-request-id', requestId);
    app(request, response);
  });
  const boundPort = await listen(server, { host, port, keys: 'router.host, router.port' }).catch(
    async (error: unknown) => {
      await stopTls();
      throw error;
    },
  );
  connections.start();
  let stopped: Promise<void> | undefined;
  const stop = async (drainMs: number) => {
    await open.drain(drainMs);
    open.markCutOff();
    connections.stop();
    // The server emits `close` before the responses that it cuts off do, so both are awaited.
    const closed = Promise.all([once(server, 'close'), open.closed()]);
    server.close();
    const tlsStopped = stopTls();
    server.closeAllConnections();
    connections.cutAll();
    await Promise.all([closed, tlsStopped]);
  };
  return {
    url: `${scheme}://${host}:${boundPort}`,
    applyLimits() {
      const { headersTimeout, requestTimeout, keepAliveTimeout } = nodeLimits(limits);
      Object.assign(server, { headersTimeout, requestTimeout, keepAliveTimeout });
    },
    stop: (drainMs) => (stopped ??= stop(drainMs)),
  };
}

/** Creates the HTTP server, or the HTTPS server with certificate renewal. */
async function createListener(options: ServerOptions, limits: ServerLimits, tls?: TlsOptions) {
  if (tls === undefined) return { server: createServer(options), scheme: 'http', stopTls: () => undefined };
  const known = await digestsOf(pathsOf(tls.files));
  const handshakes = { handshakeTimeout: limits.headersTimeoutMs, maxHandshakes: () => limits.maxConnections };
  const { server, cutHandshakes } = createTlsServer(tls.files, { ...options, ...handshakes });
  const renewal = await watchCertificate(server, tls, known);
  const stopTls = () => {
    cutHandshakes();
    return renewal.stop();
  };
  return { server, scheme: 'https', stopTls };
}

function nodeLimits({ headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs }: ServerLimits) {
  return {
    maxHeaderSize: 16_384,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.min(2_000, Math.ceil(headersTimeoutMs / 5)),
    // The request guard checks Host, and responds with a problem document.
    requireHostHeader: false,
    insecureHTTPParser: false,
  };
}

/** Subscribes to all events by which Node announces a request or reports a connection error. */
function attachConnections(
  server: Server | HttpsServer,
  connections: Connections,
  handle: (exchange: Exchange) => void,
): void {
  // If there were a limit, Node would silently drop the header fields beyond it before the guard sees them.
  server.maxHeadersCount = 0;
  const known = new Attachment<Socket, Connection>('connection');
  const refuse = (socket: Socket, problem: Problem) => {
    connections.countClosed(problem.code);
    refuseOnSocket(socket, problem);
    connections.linger(socket);
  };
  /**
   * Connections to destroy at the end of this turn of the event loop, after responses that are ready have been sent.
   */
  const closing = new Set<Socket>();
  const cut = (socket: Socket, problem: Problem) => {
    const close = () => {
      closing.delete(socket);
      if (socket.destroyed) return;
      // A rejected connection has already been counted.
      if (!socket.writableEnded) connections.countClosed(problem.code);
      socket.destroy();
    };
    // Another chunk has arrived in this turn: destroy the connection now.
    if (closing.has(socket)) return close();
    closing.add(socket);
    setImmediate(close);
  };
  const handlers = { handle, refuse, cut, onIdle: (socket: Socket) => connections.requestEnded(socket) };
  const connectionOf = (socket: Socket): Connection => {
    const found = known.get(socket) ?? new Connection(socket, handlers);
    known.set(socket, found);
    return found;
  };
  const enqueue = (request: IncomingMessage, response: ServerResponse) => {
    // Node's parser skips whatever follows an upgrade request in the same chunk. If that includes the head of a
    // request, the parser would take the rest of that request's body for a new request.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    connectionOf(request.socket).enqueue({ request, response });
  };
  // A TLS connection is counted only after its handshake has completed.
  server.on(server instanceof HttpsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    // Node handles socket errors only while it parses.
    socket.on('error', () => socket.destroy());
    const problem = connections.add(socket);
    if (problem !== null) connectionOf(socket).fail(problem);
  });
  server.on('request', enqueue);
  server.on('checkContinue', enqueue);
  server.on('checkExpectation', enqueue);
  server.on('connect', (_request, socket) => connectionOf(socket as Socket).fail(connectRefusal()));
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket;
    const problem = problemOfParserError(error);
    if (problem !== null && socket.writable) return connectionOf(socket).fail(problem);
    // After a request with `Connection: close`, Node closes the connection itself once it has sent the response.
    if (error.code !== 'HPE_CLOSED_CONNECTION' || !connectionOf(socket).busy) socket.destroy();
  });
}

/**
 * Defers the response to `Expect: 100-continue` (RFC 9110 section 10.1.1): 100 is sent when the body is read. If 100 is
 * never sent, the client may or may not send the body, so the connection cannot be reused.
 */
function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  const { expect, 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (expect === undefined || request.httpVersion !== '1.1') return;
  if (coding === undefined && Number(length ?? 0) === 0) return;
  const { shouldKeepAlive } = response;
  response.shouldKeepAlive = false;
  setContinueSender(request, () => {
    response.shouldKeepAlive = shouldKeepAlive;
    response.writeContinue();
  });
}
