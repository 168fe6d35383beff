// What a plugin may rely on: Express Gateway's plugin contract, typed, plus the services of this router.

import type { Registry } from 'prom-client';
import { Attachment } from '#lib/gc/attachment.ts';
import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import type { Config } from '#lib/config/schema.ts';
import type { OpenApiDocument } from '#lib/openapi/openapi.ts';
import type { Answer } from '#lib/envelope/outbound.ts';
import type { Redis } from '#lib/redis/redis.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import type { Problem } from '#lib/problem/problem.ts';
import type { Span, Tracer } from '#lib/telemetry/tracing/tracer.ts';
import type { GatewayRoute } from './gateway-routes.ts';
import type { Policy, PolicyDeclaration } from './policy.ts';

export * from './policy.ts';

/** A dependency of readiness: returns the reasons why the router is not ready, none when it is. */
export type ReadinessCheck = () => Promise<readonly string[]>;

/** What an operator should know although the router can serve; nothing when all is well. */
export type ReadinessNotice = () => readonly string[];

/** What a part that outlives configurations is built with. */
export interface SharedServices {
  /** The configuration in force, at each reading: what is read once stays as it was. */
  readonly config: Config;
  readonly log: Logger;
  /** As {@link RouterServices}; what is registered here goes with the part. */
  readonly metrics: Registry;
  readonly tracer?: Tracer | undefined;
  readonly redis?: Redis | undefined;
  readonly draining: AbortSignal;
  addReadinessCheck(name: string, check: ReadinessCheck): void;
  addReadinessNotice(name: string, notice: ReadinessNotice): void;
  /** Called in reverse order of registration when the last configuration that uses the part has gone. */
  onStop(name: string, stop: () => void | Promise<void>): void;
}

/**
 * What the router lends its plugins. A plugin is initialised anew for each configuration that is loaded while the router
 * runs; what must not begin anew with it (connections, counts, waits, metrics) it has kept with {@link share}.
 */
export interface RouterServices {
  /** This configuration, which may not be the one in force yet, or any more. */
  readonly config: Config;
  /** The definitions that were read with it. */
  readonly definitions: Definitions;
  readonly log: Logger;
  /** Prometheus registry behind `/metrics`. */
  readonly metrics: Registry;
  /** Where spans go; absent while tracing is off. */
  readonly tracer?: Tracer | undefined;
  /** The connection that the whole router shares; absent without `redis.url`. */
  readonly redis?: Redis | undefined;
  /**
   * A part that configurations share: made for the first that asks for it, handed to the others, stopped after the last.
   * @param name unique in the router
   * @param from what it is made from; for other values another one is made. Empty when it follows the one in force
   */
  share<T>(name: string, from: readonly unknown[], make: (services: SharedServices) => T): T;
  /** What has to be true before this configuration takes over from another; at the start of the router nobody asks. */
  addActivationCheck(name: string, check: ReadinessCheck): void;
  /** Called in the moment this configuration takes over, also at the start. Must not fail, must not wait. */
  onActivate(take: () => void): void;
  /** Adds a check to `/health/ready`. */
  addReadinessCheck(name: string, check: ReadinessCheck): void;
  /** Adds something that `/health/ready` shows and that leaves the router ready. */
  addReadinessNotice(name: string, notice: ReadinessNotice): void;
  /** Called once the router listens, of the configuration that it was started with. */
  onStarted(started: () => void): void;
  /** Called in reverse order of registration once the last request of this configuration has been answered. */
  onStop(name: string, stop: () => void | Promise<void>): void;
  /** Reports an error nobody foresaw to the error tracker; never personal data. */
  reportError(error: unknown, fields: Record<string, string>): void;
  /** The routes of this configuration, with checked parameters. */
  readonly routes: readonly GatewayRoute[];
  /** The OpenAPI document of every route. */
  readonly document: OpenApiDocument;
  /** Resolves when the router begins to drain: held connections should be let go. */
  readonly draining: AbortSignal;
}

/** Handed to a plugin's `init`. */
export interface PluginContext {
  /** The plugin's settings in gateway.config.yml. */
  readonly settings: Record<string, unknown>;
  readonly services: RouterServices;
  registerPolicy(policy: Policy): void;
}

/** The exports of `plugins/<plugin>/index.ts`. */
export interface Plugin {
  readonly version: string;
  /** The policies that `init` registers. */
  readonly policies: readonly PolicyDeclaration[];
  init(context: PluginContext): void | Promise<void>;
}

/** How an execution ended for its client, as admission control counts it. */
export interface ExecutionEnding {
  /** The problem it was, or would be, answered with; undefined for an answer of the back end. */
  readonly problem: ProblemCode | undefined;
  /** The status of the back end's answer, where it is known. */
  readonly status?: number | undefined;
  /** True when nobody saw it end. */
  readonly clientGone: boolean;
}

/** What the policies of one request tell each other. */
export interface RequestContext {
  /** The answer's `X-Request-Id`. */
  readonly requestId: string;
  /** Its client's address, as `router.trustedProxies` has it (client-address.ts). */
  readonly clientAddress: string;
  /** When its head had arrived (performance.now()). */
  readonly receivedAt?: number;
  /** Name of the apiEndpoint that matched; set when a pipeline is entered. */
  route: string;
  /** Set by the bearer policy. */
  clientId?: string;
  /** Scopes of the access token; set by the bearer policy. */
  scopes?: ReadonlySet<string>;
  /** Set once a workflow has been started for this request. */
  executionId?: string;
  /** The version of the workflow that serves this request; set by the workflow policy. */
  workflowVersion?: number;
  /** When the wait budget began (performance.now()); set by the admission policy. */
  arrivedAt?: number;
  /**
   * Why the admission policy refuses a request with an Idempotency-Key; the workflow policy answers it with the recorded
   * response to the first request with this key, else with this.
   */
  refusal?: Problem;
  /**
   * Resolves when nothing more is done for the request, be it answered or left by its client; set by the workflow policy
   * when it begins.
   */
  served?: Promise<void>;
  /** To be called once a workflow has been started; set by the admission policy. */
  onStarted?: (executionId: string) => void;
  /** Compresses an answer where the client accepts that; set by the compress policy. */
  compress?: (answer: Answer) => Promise<Answer>;
  /** Set when the execution goes on behind the answer: resolves when it is over, or when nobody counts it any more. */
  goesOn?: Promise<ExecutionEnding>;
  /** Its span, once there is one (request-span.ts). */
  span?: Span;
  /** Code of the problem that the request was answered with. */
  problem?: ProblemCode;
  /** Why the answer is what it is, for the one log line of this request. */
  reason?: string;
}

const contexts = new Attachment<object, RequestContext>('request context');

/** The context of a request; made by the guard in front of everything. */
export function contextOf(request: object): RequestContext {
  const context = contexts.get(request);
  if (context === undefined) throw new Error('the request did not pass the request guard');
  return context;
}

/** Gives a request its context. Called once, by the guard. */
export function setContext(request: object, context: RequestContext): void {
  contexts.set(request, context);
}
