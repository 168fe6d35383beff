// The HTTP server of the operations port: liveness, readiness, metrics and the pages for operators. It has no
// authentication.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
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
  log: Pick<Logger, 'error'>;
}): Promise<OperationsServer> {
  const { host, port, hosts, readiness, metrics, pages, keys, log } = options;
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
    if (isForeignSubrequest(request)) return refuseOrigin(response);
    serve(routes, request, response)?.catch((error: Error) => {
      log.error({ path: pathOf(request), ...errorFields(error) }, 'a request to the operations port failed');
      const detail = 'The response could not be created; the log of this program has the reason.';
      sendProblem(response, { title: 'Internal Server Error', status: 500, detail });
    });
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

/** Calls the handler of a route; responds with an error when there is none. */
function serve(
  routes: OperationsRoutes,
  { url = '', method }: IncomingMessage,
  response: ServerResponse,
): Promise<void> | undefined {
  const [path = '', query = ''] = splitOnce(url, '?');
  const [, base = '', id = ''] = /^(.*)\/([^/]+)$/.exec(path) ?? [];
  const route = ownRoute(routes, path) ?? ownRoute(routes, `${base}/:id`);
  if (route === undefined) {
    sendJson(response, 404, { status: 404, paths: Object.keys(routes) });
    return undefined;
  }
  if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    sendJson(response, 405, { status: 405 });
    return undefined;
  }
  return route(response, { query: new URLSearchParams(query), id });
}

function pathOf({ url = '' }: IncomingMessage): string {
  return splitOnce(url, '?')[0];
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
  sendProblem(response, { title: 'Misdirected Request', status: 421, detail });
}

function refuseOrigin(response: ServerResponse): void {
  const detail = 'This port does not accept requests from pages of another origin (Sec-Fetch-Site).';
  sendProblem(response, { title: 'Forbidden', status: 403, detail });
}

function sendProblem(response: ServerResponse, problem: { title: string; status: number; detail: string }): void {
  if (!response.headersSent) response.setHeader('content-type', 'application/problem+json');
  sendJson(response, problem.status, { type: 'about:blank', ...problem });
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  if (response.headersSent) return;
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'application/json');
  response.writeHead(status, { 'cache-control': 'no-store' }).end(JSON.stringify(value));
}
