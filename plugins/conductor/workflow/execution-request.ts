// Types for the layers of the workflow policy: the request for an execution that each layer passes on, and the result
// that it returns.

import type { Coding } from '../../../gateway/plugin-api/content-coding.ts';
import type { InboundRequest } from '#lib/envelope/inbound.ts';
import type { WaitPolicy } from '../execution/preferences.ts';
import type { Outcome } from '../execution/outcome.ts';
import type { ExecutionTelemetry } from '../telemetry/execution-telemetry.ts';
import type { ChosenVersion } from '../versions/route-versions.ts';

/**
 * A request for an execution. Layers do not modify the request; they pass on a changed copy. Times are those of
 * performance.now().
 */
export interface ExecutionRequest {
  /** The client's request, for the envelope. */
  readonly received: InboundRequest;
  /** The pinned workflow version that was chosen for this request. */
  readonly version: ChosenVersion;
  /** Task domain whose workers serve the request; undefined for tasks without a domain. */
  readonly domain: string | undefined;
  /** Correlation id of the execution: the digest that stands for the client's Idempotency-Key, or the request id. */
  readonly correlationId: string;
  /**
   * True when the correlation id stands for an Idempotency-Key. At most one execution is started for such an id.
   */
  readonly isKeyed: boolean;
  /** The client as admission control counts it: the OAuth client, or the address. */
  readonly client: string;
  /** Aborts when the client disconnects. */
  readonly clientGone: AbortSignal;
  /** Resolves to true when the client has closed its side of the connection. */
  readonly hasLeft: () => Promise<boolean>;
  /** Content coding that the client accepts; undefined when it accepts none. */
  readonly coding: Coding | undefined;
  readonly waitPolicy: WaitPolicy;
  /** Response deadline of the route for requests without a `wait` preference, in milliseconds from `arrivedAt`. */
  readonly responseDeadlineMs: number;
  /** When the head of the request was complete. */
  readonly receivedAt: number;
  /**
   * When the whole request was complete. Response deadlines are measured from this time. For a body that arrives after
   * the head, this is the time at which the body was read.
   */
  readonly arrivedAt: number;
  /** Nothing is started for this request from this time on. */
  readonly startBefore: number;
  readonly telemetry: ExecutionTelemetry;
}

/**
 * The result of serving a request: the id of the execution for the client, and what the client receives. By contrast, a
 * `StartedExecution` is only the execution that the engine has started for a request.
 */
export interface ServeResult {
  /** Undefined when nothing was started, because the client had disconnected. */
  readonly executionId?: string;
  /**
   * Set when an earlier request with the same Idempotency-Key has started the execution: that request's response is
   * `replayed`, or this request is `rejected` (409, 422).
   */
  readonly earlier?: 'replayed' | 'rejected';
  /** Workflow version of the execution, when an earlier request has started it. */
  readonly version?: number;
  /** Resolves when the response for the client is ready. Never rejects. */
  readonly outcome: Promise<Outcome>;
}

/**
 * Serves a request; resolves as soon as its execution has started.
 * @throws Problem when nothing was started, or when it is unknown whether anything was started (504 `outcome-unknown`)
 */
export type Serve = (request: ExecutionRequest) => Promise<ServeResult>;

/** Serves a request with a new execution. */
export type Start = (request: ExecutionRequest) => Promise<ServeResult & { readonly executionId: string }>;

/** Adds one concern to the serving of requests: returns a function that calls `next` or serves the request itself. */
export type Layer = (next: Serve) => Serve;

/** The result when nothing was started because the client had disconnected. */
export const leftBeforeStart: ServeResult = { outcome: Promise.resolve({ kind: 'client-gone' }) };
