// The public HTTP server: its limits, the guard in front of Express, and its drain.

import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { once } from 'node:events';
import type { Registry } from 'prom-client';
import { Attachment } from '#lib/gc/attachment.ts';
import type { Problem } from '#lib/problem/problem.ts';
import type { AccessLog } from './access-log.ts';
import { answerProblem } from './answer-problem.ts';
import { Connection, type Exchange } from './connection.ts';
import { ClientAddresses } from '../plugin-api/client-address.ts';
import { Connections } from './connections.ts';
import { setContext } from '../plugin-api/plugin-api.ts';
import { InFlight } from './in-flight.ts';
import { connectRefusal, endOfRequests, refuseOnSocket } from './refusals.ts';
import type { MessageClasses } from './express-messages.ts';
import { inviteBodyWith } from '../plugin-api/read-body.ts';
import { checkRequest, requestIdOf } from './request-guard.ts';
import { createTlsServer, renewCertificate, type TlsOptions } from './tls.ts';

/**
 * Bounds in time and number for what clients may take. Times in milliseconds. Read when they are needed, so that they may
 * change while the server runs.
 */
export interface ServerLimits {
  /** Connections at once. */
  maxConnections: number;
  /** Connections at once from one address, unless it is a trusted proxy's; no limit of their own when absent. */
  maxConnectionsPerAddress?: number | undefined;
  /** From the first byte of a request, or from the opening of its connection, to the end of its header. */
  headersTimeoutMs: number;
  /** From the first byte of a request to the last byte of its body. */
  requestTimeoutMs: number;
  /** How long a connection may stay without a request after an answer. */
  keepAliveTimeoutMs: number;
  /** How long a client may take to read an answer that is ready. */
  answerTimeoutMs: number;
}

export interface HttpServerOptions {
  host: string;
  /** 0 = any free port. */
  port: number;
  /** Express, or anything that answers. */
  app: (request: IncomingMessage, response: ServerResponse) => void;
  /** Refuses a request that passed the guard, before `app` sees it. @throws Problem */
  refuseEarly?: (request: IncomingMessage) => void;
  /** What requests and responses are made of; default Node's own. */
  messages?: MessageClasses;
  /** Whose requests these are; default: no proxy is trusted. */
  clientAddresses?: ClientAddresses;
  accessLog: AccessLog;
  metrics: Registry;
  limits: ServerLimits;
  /** Speaks HTTPS instead of HTTP. */
  tls?: TlsOptions | undefined;
}

export interface HttpServer {
  readonly url: string;
  /** The limits may have changed: Node keeps a copy of some. */
  limitsChanged(): void;
  /**
   * Goes on until the requests that had come before are answered (workers' results must still get in; whatever else
   * comes meanwhile holds nothing up), then refuses connections. What is not done at the deadline is cut.
   */
  stop(drainMs: number): Promise<void>;
}

/** Starts listening. @throws Error that names address and port when they cannot be bound, or the files of TLS */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port, app, refuseEarly, messages, accessLog, metrics, limits, tls } = options;
  const { clientAddresses = new ClientAddresses(() => []) } = options;
  const inFlight = new InFlight();
  const { server, scheme, stopRenewal } = createListener({ ...nodeLimits(limits), ...messages }, limits, tls);
  const connections = new Connections(limits, metrics, (address) => clientAddresses.isTrusted(address));
  attachConnections(server, connections, ({ request, response }) => {
    const requestId = requestIdOf(request);
    const clientAddress = clientAddresses.of(request);
    setContext(request, { requestId, clientAddress, receivedAt: performance.now(), route: 'none' });
    accessLog(request, response);
    connections.busy(request.socket, response);
    inFlight.add(response);
    try {
      checkRequest(request);
      awaitInvitation(request, response);
      refuseEarly?.(request);
    } catch (error) {
      answerProblem(request, response, error);
      return;
    }
    response.setHeader('x-request-id', requestId);
    app(request, response);
  });
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    stopRenewal();
    throw new Error(`cannot listen on ${host}:${port} (router.host, router.port): ${(error as Error).message}`, {
      cause: error,
    });
  }
  connections.start();
  const { port: boundPort } = server.address() as AddressInfo;
  return {
    url: `${scheme}://${host}:${boundPort}`,
    limitsChanged() {
      const { headersTimeout, requestTimeout, keepAliveTimeout } = nodeLimits(limits);
      Object.assign(server, { headersTimeout, requestTimeout, keepAliveTimeout });
    },
    async stop(drainMs) {
      await inFlight.drain(drainMs);
      connections.stop();
      stopRenewal();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      connections.cutAll();
      await closed;
    },
  };
}

/** HTTP, or HTTPS with its certificate kept up to date. */
function createListener(options: ServerOptions, limits: ServerLimits, tls?: TlsOptions) {
  if (tls === undefined) return { server: createServer(options), scheme: 'http', stopRenewal: () => undefined };
  const handshakes = { handshakeTimeout: limits.headersTimeoutMs, maxHandshakes: limits.maxConnections };
  const server = createTlsServer(tls.files, { ...options, ...handshakes });
  return { server, scheme: 'https', stopRenewal: renewCertificate(server, tls) };
}

function nodeLimits({ headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs }: ServerLimits) {
  return {
    maxHeaderSize: 16_384,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.min(2_000, Math.ceil(headersTimeoutMs / 5)),
    // The guard asks for it, and answers as a problem document.
    requireHostHeader: false,
    insecureHTTPParser: false,
  };
}

/** Every way in which Node hands over a request, or gives up on one. */
function attachConnections(
  server: Server | HttpsServer,
  connections: Connections,
  handle: (exchange: Exchange) => void,
): void {
  // Node would drop what is beyond its own count, unseen by the guard.
  server.maxHeadersCount = 0;
  const known = new Attachment<Socket, Connection>('connection');
  const refuse = (socket: Socket, problem: Problem) => {
    connections.count(problem.code);
    refuseOnSocket(socket, problem);
    connections.linger(socket);
  };
  const handlers = { handle, refuse, becameIdle: (socket: Socket) => connections.idle(socket) };
  const connectionOf = (socket: Socket): Connection => {
    const found = known.get(socket) ?? new Connection(socket, handlers);
    known.set(socket, found);
    return found;
  };
  const take = (request: IncomingMessage, response: ServerResponse) =>
    connectionOf(request.socket).take({ request, response });
  // With TLS, a connection is one once its handshake is done.
  server.on(server instanceof HttpsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    // Node listens for errors only while it parses.
    socket.on('error', () => socket.destroy());
    const problem = connections.add(socket);
    if (problem !== null) connectionOf(socket).fail(problem);
  });
  server.on('request', take);
  server.on('checkContinue', take);
  server.on('checkExpectation', take);
  server.on('connect', (_request, socket) => connectionOf(socket as Socket).fail(connectRefusal()));
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket;
    const problem = endOfRequests(error);
    if (problem !== null && socket.writable) return connectionOf(socket).fail(problem);
    // After a request that said it was the last, Node closes by itself once it is answered.
    if (error.code !== 'HPE_CLOSED_CONNECTION' || !connectionOf(socket).busy) socket.destroy();
  });
}

/**
 * `Expect: 100-continue`: the client is asked for its body when somebody wants it. One that was not asked may send it
 * or not, so its connection cannot be used again.
 */
function awaitInvitation(request: IncomingMessage, response: ServerResponse): void {
  const { expect, 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (expect === undefined || request.httpVersion !== '1.1') return;
  if (coding === undefined && Number(length ?? 0) === 0) return;
  const { shouldKeepAlive } = response;
  response.shouldKeepAlive = false;
  inviteBodyWith(request, () => {
    response.shouldKeepAlive = shouldKeepAlive;
    response.writeContinue();
  });
}
