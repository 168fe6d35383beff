// The access log: one log line and one measurement per request, written when the response has closed.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import type { Tracer } from '#lib/telemetry/tracing/tracer.ts';
import { durationBuckets } from '#lib/telemetry/duration-buckets.ts';
import { ActiveClients } from './active-clients.ts';
import { contextOf, type RequestContext } from '../plugin-api/plugin-api.ts';
import type { RouteKind } from '../plugin-api/gateway-routes.ts';
import { requestSpan } from '../plugin-api/request-span.ts';

/** Starts the measurement of one request. The log line is written when the response closes. */
export type AccessLog = (request: IncomingMessage, response: ServerResponse) => void;

/** A request whose response has closed. */
export interface EndedRequest {
  readonly route: string;
  readonly method: string;
  /**
   * Status code of the response. If the response was not sent completely, the status is 499 when the client closed the
   * connection, and 504 when the router closed the connection during shutdown, because the client does not know the
   * outcome.
   */
  readonly status: number;
  readonly durationMs: number;
  readonly executionId: string | undefined;
  readonly problem: ProblemCode | undefined;
}

/** Optional observers of requests, in addition to the log and the metrics. */
export interface AccessLogObservers {
  /** Creates the spans of client requests. */
  tracer?: Tracer | undefined;
  /** Called for each request when its response has closed. */
  onRequestEnd?: (request: EndedRequest) => void;
  /** Returns the kind of a route; default: always `clients`. */
  kindOf?: (route: string) => RouteKind;
}

/** Creates the access log. It never logs the path or query, because both may contain personal data. */
export function createAccessLog(log: Logger, metrics: Registry, observers: AccessLogObservers = {}): AccessLog {
  const { requests, duration, inFlight } = createMetrics(metrics);
  const clients = new ActiveClients(metrics);
  const { tracer, onRequestEnd: ended, kindOf = () => 'clients' } = observers;

  return function logWhenClosed(request, response) {
    const startedAt = performance.now();
    inFlight.inc();
    response.once('close', () => {
      inFlight.dec();
      const context = contextOf(request);
      const { requestId, route, clientId, executionId, workflowVersion, reason, problem } = context;
      const { status, message } = endOf(response, context);
      const durationMs = Math.round((performance.now() - startedAt) * 10) / 10;
      const method = knownMethod(request.method);
      requests.inc({ route, method, status });
      duration.observe({ route }, durationMs / 1000);
      if (clientId !== undefined) clients.record(route, clientId);
      ended?.({ route, method, status, durationMs, executionId, problem });
      // Calls from workers have no spans of their own, because their tasks have spans.
      const ofWorkers = kindOf(route) === 'workers';
      if (tracer !== undefined && !ofWorkers) endSpan(tracer, request, { method, status, context });
      const fields = { requestId, executionId, workflowVersion, route, clientId, method, status, durationMs, reason };
      const level = levelOf(status, { ofWorkers, reason });
      log[level](fields, message);
    });
  };
}

/** Returns the status and the log message of a request whose response has closed. */
function endOf(response: ServerResponse, { isCutOff }: RequestContext): { status: number; message: string } {
  if (response.writableFinished) return { status: response.statusCode, message: 'response sent' };
  return isCutOff === true ? { status: 504, message: 'response cut off' } : { status: 499, message: 'client gone' };
}

function createMetrics(metrics: Registry) {
  const registers = [metrics];
  return {
    requests: new Counter({
      name: 'router_http_requests_total',
      help: 'Requests that have ended. Without a complete response, the status is 499 when the client disconnected, and 504 when the router shut down',
      labelNames: ['route', 'method', 'status'],
      registers,
    }),
    duration: new Histogram({
      name: 'router_http_request_duration_seconds',
      help: 'Time from the head of a request to the end of its response',
      labelNames: ['route'],
      buckets: durationBuckets,
      registers,
    }),
    inFlight: new Gauge({
      name: 'router_http_requests_in_flight',
      help: 'Requests in flight, including held polls',
      registers,
    }),
  };
}

function endSpan(
  tracer: Tracer,
  request: IncomingMessage,
  { method, status, context }: { method: string; status: number; context: RequestContext },
): void {
  requestSpan(request, tracer).end({
    attributes: {
      'http.request.method': method,
      'http.response.status_code': status,
      'router.route': context.route,
      'router.request_id': context.requestId,
      'router.client_id': context.clientId,
      'conductor.execution_id': context.executionId,
    },
    error: status < 500 ? undefined : (context.problem ?? String(status)),
  });
}

/**
 * Log level of a request. Successful calls from workers are logged at `debug`, because workers poll every few seconds.
 */
function levelOf(
  status: number,
  { ofWorkers, reason = '' }: { ofWorkers: boolean; reason: string | undefined },
): 'debug' | 'info' | 'warn' {
  const expected = status < 400 || reason.startsWith('shutting-down');
  if (ofWorkers && expected) return 'debug';
  return status >= 500 ? 'warn' : 'info';
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Returns the method as a metric label; `other` for unknown methods, so that clients cannot create labels. */
function knownMethod(method = ''): string {
  return methods.has(method) ? method : 'other';
}
