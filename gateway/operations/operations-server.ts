// The HTTP server of the operations port: liveness, readiness, metrics and the pages for operators. It has no
// authentication.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { listen } from '../server/listen.ts';
import { withDeprecatedMetrics } from './deprecated-metrics.ts';
import { createHostCheck, isForeignSubrequest } from './host-check.ts';
import type { Readiness } from './readiness.ts';

/** A server that listens on the operations port. */
export interface OperationsServer {
  readonly url: string;
  /** Stops listening and closes all connections. */
  stop(): Promise<void>;
}

/** A GET or HEAD request. */
export interface OperationsRequest {
  readonly query: URLSearchParams;
  /** The last segment of the path, not decoded; for routes that end with `/:id`. */
  readonly id: string;
}

/** Handlers by path. A path may end with `/:id`, which matches any last segment unless another path matches exactly. */
export type OperationsRoutes = Record<string, (response: ServerResponse, request: OperationsRequest) => Promise<void>>;

/**
 * Starts the server. It serves `GET /health/live`, `GET /health/ready` (200, or 503 with the reasons), `GET /metrics`
 * and `pages`. It responds with 421 (RFC 9110 section 15.5.20) to a request whose `Host` is not accepted, and with 403
 * to a request from a page of another origin.
 * @throws Error that names `keys` when the server cannot listen
 */
export async function startOperationsServer(options: {
  host: string;
  port: number;
  /** Accepted host names, in addition to IP addresses and localhost. */
  hosts: readonly string[];
  readiness: { ask(): Promise<Readiness>; readonly draining?: boolean };
  metrics?: Registry;
  pages?: OperationsRoutes;
  /** Configuration keys of the host and port, for the error message. */
  keys: string;
}): Promise<OperationsServer> {
  const { host, port, hosts, readiness, metrics, pages, keys } = options;
  const routes: OperationsRoutes = {
    ...pages,
    // The status code stays 200 during a drain: otherwise, an orchestrator would kill the process.
    '/health/live': async (response) =>
      sendJson(response, 200, { status: readiness.draining ? 'shutting down' : 'live' }),
    '/health/ready': async (response) => {
      const { ready, ...found } = await readiness.ask();
      sendJson(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', ...found });
    },
  };
  if (metrics !== undefined) {
    const sendMetrics: OperationsRoutes[string] = async (response) => {
      const text = withDeprecatedMetrics(await metrics.metrics());
      response.writeHead(200, { 'content-type': metrics.contentType }).end(text);
    };
    routes['/metrics'] = sendMetrics;
  }
  const isOwnHost = createHostCheck(hosts);
  const server = createServer((request, response) => {
    if (!isOwnHost(request)) return refuseHost(response);
    if (isForeignSubrequest(request)) return sendJson(response, 403, { status: 403 });
    serve(routes, request, response);
  });
  const boundPort = await listen(server, { host, port, keys });
  return {
    url: `http://${host}:${boundPort}`,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function serve(routes: OperationsRoutes, { url = '', method }: IncomingMessage, response: ServerResponse): void {
  const [path = '', query = ''] = splitOnce(url, '?');
  const [, base = '', id = ''] = /^(.*)\/([^/]+)$/.exec(path) ?? [];
  const route = ownRoute(routes, path) ?? ownRoute(routes, `${base}/:id`);
  if (route === undefined) return sendJson(response, 404, { status: 404, paths: Object.keys(routes) });
  if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return sendJson(response, 405, { status: 405 });
  }
  route(response, { query: new URLSearchParams(query), id }).catch((error: Error) =>
    sendJson(response, 500, { status: 500, error: error.name }),
  );
}

function ownRoute(routes: OperationsRoutes, path: string): OperationsRoutes[string] | undefined {
  return Object.hasOwn(routes, path) ? routes[path] : undefined;
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function refuseHost(response: ServerResponse): void {
  const detail =
    'This port accepts only requests whose Host is an IP address, localhost or a name listed in ops.hosts.';
  response.setHeader('content-type', 'application/problem+json');
  sendJson(response, 421, { type: 'about:blank', title: 'Misdirected Request', status: 421, detail });
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  if (response.headersSent) return;
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'application/json');
  response.writeHead(status, { 'cache-control': 'no-store' }).end(JSON.stringify(value));
}
