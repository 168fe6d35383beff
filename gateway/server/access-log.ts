// One log line and one measurement a request, written when its answer has left or its client has gone.

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

/** Starts watching one request; the rest happens when it ends. */
export type AccessLog = (request: IncomingMessage, response: ServerResponse) => void;

/** A request that is over. */
export interface EndedRequest {
  readonly route: string;
  readonly method: string;
  /** 499 = the client had gone. */
  readonly status: number;
  readonly durationMs: number;
  readonly executionId: string | undefined;
  readonly problem: ProblemCode | undefined;
}

export interface AccessLogObservers {
  tracer?: Tracer | undefined;
  /** Told of every request when it is over. */
  ended?: (request: EndedRequest) => void;
  /** Whom a route serves. Default: clients. */
  kindOf?: (route: string) => RouteKind;
}

/** Neither path nor query is logged: both may name a person. */
export function createAccessLog(log: Logger, metrics: Registry, observers: AccessLogObservers = {}): AccessLog {
  const { requests, duration, inFlight } = createMetrics(metrics);
  const clients = new ActiveClients(metrics);
  const { tracer, ended, kindOf = () => 'clients' } = observers;

  return function watch(request, response) {
    const startedAt = performance.now();
    inFlight.inc();
    response.once('close', () => {
      inFlight.dec();
      const context = contextOf(request);
      const { requestId, route, clientId, executionId, workflowVersion, reason, problem } = context;
      const durationMs = Math.round((performance.now() - startedAt) * 10) / 10;
      const clientGone = !response.writableFinished;
      const status = clientGone ? 499 : response.statusCode;
      const method = knownMethod(request.method);
      requests.inc({ route, method, status });
      duration.observe({ route }, durationMs / 1000);
      if (clientId !== undefined) clients.note(route, clientId);
      ended?.({ route, method, status, durationMs, executionId, problem });
      // Workers' calls are not traced: the tasks they are about are.
      const ofWorkers = kindOf(route) === 'workers';
      if (tracer !== undefined && !ofWorkers) endSpan(tracer, request, { method, status, context });
      const fields = { requestId, executionId, workflowVersion, route, clientId, method, status, durationMs, reason };
      const level = levelOf(status, { ofWorkers, reason });
      log[level](fields, clientGone ? 'client gone' : 'answered');
    });
  };
}

function createMetrics(metrics: Registry) {
  const registers = [metrics];
  return {
    requests: new Counter({
      name: 'router_http_requests_total',
      help: 'Answered requests',
      labelNames: ['route', 'method', 'status'],
      registers,
    }),
    duration: new Histogram({
      name: 'router_http_request_duration_seconds',
      help: 'Time from the head of a request to the end of its answer',
      labelNames: ['route'],
      buckets: durationBuckets,
      registers,
    }),
    inFlight: new Gauge({ name: 'router_http_requests_in_flight', help: 'Requests being answered', registers }),
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

/** Workers' polls come every few seconds for ever: they are worth a line only when something is wrong. */
function levelOf(
  status: number,
  { ofWorkers, reason = '' }: { ofWorkers: boolean; reason: string | undefined },
): 'debug' | 'info' | 'warn' {
  const expected = status < 400 || reason.startsWith('shutting-down');
  if (ofWorkers && expected) return 'debug';
  return status >= 500 ? 'warn' : 'info';
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** A label must not take whatever a client invents. */
function knownMethod(method = ''): string {
  return methods.has(method) ? method : 'other';
}
