// The request context: state of one request, shared by the HTTP server, the pipelines and the policies.

import { Attachment } from '#lib/gc/attachment.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import type { Span } from '#lib/telemetry/tracing/tracer.ts';

/** State of one request. */
export interface RequestContext {
  /** `X-Request-Id` of the response. */
  readonly requestId: string;
  /** Address of the client, determined with `router.trustedProxies` (client-address.ts). */
  readonly clientAddress: string;
  /** Time at which the head of the request was complete (performance.now()). */
  readonly receivedAt?: number;
  /** Name of the matching apiEndpoint; `none` until it is known. */
  route: string;
  /** Set by the bearer policy. */
  clientId?: string;
  /** Scopes of the access token; set by the bearer policy. */
  scopes?: ReadonlySet<string>;
  /** Set once a workflow has been started for this request. */
  executionId?: string;
  /** The version of the workflow that serves this request; set by the workflow policy. */
  workflowVersion?: number;
  /** Span of the request, once created (request-span.ts). */
  span?: Span;
  /** Code of the problem that was sent as the response. */
  problem?: ProblemCode;
  /** Why the router sent this response; written to the access log. */
  reason?: string;
  /** True once the router has cut off the response during shutdown. */
  isCutOff?: boolean;
}

const contexts = new Attachment<object, RequestContext>('request context');

/** Returns the context of a request. @throws Error when the request has none */
export function contextOf(request: object): RequestContext {
  const context = contexts.get(request);
  if (context === undefined) throw new Error('the request has no context: the HTTP server did not accept it');
  return context;
}

/** Sets the context of a request. Called once, by the HTTP server. */
export function setContext(request: object, context: RequestContext): void {
  contexts.set(request, context);
}
