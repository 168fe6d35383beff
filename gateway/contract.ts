// What a plugin may rely on: Express Gateway's plugin contract, typed, plus the services of this router.

import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import type { Registry } from 'prom-client';
import type { TSchema, Static } from 'typebox';
import { Attachment } from '../collections/attachment.ts';
import type { Definitions } from '../conductor/definitions/load-definitions.ts';
import type { Config } from '../config/schema.ts';
import type { PolicyDescription } from '../contract/description.ts';
import type { OpenApiDocument } from '../contract/openapi.ts';
import type { Answer } from '../envelope/outbound.ts';
import type { Redis } from '../lib/redis/redis.ts';
import type { Logger } from '../logging/log.ts';
import type { ProblemCode } from '../problem/catalogue.ts';
import type { Span, Tracer } from '../tracing/tracer.ts';

/** One step of a pipeline. It answers, or calls `next()`. Whatever it throws or rejects with becomes a problem document. */
export type Handler = (request: Request, response: Response, next: NextFunction) => void | Promise<void>;

/** A request whose pipeline is known and has not begun. Nothing of it may be changed. */
export interface EarlyRequest {
  readonly request: IncomingMessage;
  /** `route` is set; a policy may set what it would set anyway. */
  readonly context: RequestContext;
  /** Path parameters of the apiEndpoint, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * What one place of a policy can say before the pipeline begins. Under a flood most of what a refusal costs is the way
 * to it, and that time is missing for what is served.
 */
export interface EarlyCheck {
  /** True while this policy is refusing requests: nothing is looked at early unless one of them is. */
  readonly isRefusing?: () => boolean;
  /**
   * Asked in the order of the pipeline. `unsure` sends the request through it.
   * @throws Problem that the policy would answer with
   */
  readonly look: (early: EarlyRequest) => 'unsure' | void;
}

/** A policy as Express Gateway registers it; `policy` is called once per place in gateway.config.yml. */
export interface Policy {
  readonly name: string;
  /** JSON Schema of the `action` in gateway.config.yml; checked strictly before anything listens. */
  readonly schema: { readonly $id: string } & Record<string, unknown>;
  readonly policy: (action: never) => Handler;
  /** What one place of the policy adds to the OpenAPI document; nothing when absent. */
  readonly describe?: (action: never) => PolicyDescription;
  /**
   * What it can say before the pipeline begins, called once for each apiEndpoint. Nothing behind a policy without it is
   * refused early.
   */
  readonly early?: (action: never) => EarlyCheck;
  /** What is wrong with parameters that the schema lets pass, each with what to do; the router does not start. */
  readonly check?: (action: never) => readonly string[];
}

/**
 * Describes a policy.
 * @param definition `schema`: TypeBox object of its parameters (units in the descriptions); `create`: builds the
 *   handler from checked parameters, without side effects; `describe`: says the same of them in the OpenAPI document;
 *   `check`: finds what no schema can say; `early`: refuses before the pipeline begins
 */
export function definePolicy<S extends TSchema>(definition: {
  name: string;
  schema: S;
  create: (parameters: Static<S>) => Handler;
  describe?: (parameters: Static<S>) => PolicyDescription;
  check?: (parameters: Static<S>) => readonly string[];
  early?: (parameters: Static<S>) => EarlyCheck;
}): Policy {
  const schema: Policy['schema'] = {
    ...(definition.schema as TSchema & Record<string, unknown>),
    $id: `urn:service-router:policy:${definition.name}`,
  };
  return {
    name: definition.name,
    schema,
    policy: definition.create as Policy['policy'],
    ...(definition.describe === undefined ? {} : { describe: definition.describe as NonNullable<Policy['describe']> }),
    ...(definition.check === undefined ? {} : { check: definition.check as NonNullable<Policy['check']> }),
    ...(definition.early === undefined ? {} : { early: definition.early as NonNullable<Policy['early']> }),
  };
}

/** A dependency of readiness: returns the reasons why the router is not ready, none when it is. */
export type ReadinessCheck = () => Promise<readonly string[]>;

/** What an operator should know although the router can serve; nothing when all is well. */
export type ReadinessNotice = () => readonly string[];

/** What a part that outlives configurations is built with. */
export interface KeptServices {
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
 * runs; what must not begin anew with it (connections, counts, waits, metrics) it has kept with {@link keep}.
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
  keep<T>(name: string, from: readonly unknown[], make: (services: KeptServices) => T): T;
  /** What has to be true before this configuration takes over from another; at the start of the router nobody asks. */
  addTakeOverCheck(name: string, check: ReadinessCheck): void;
  /** Called in the moment this configuration takes over, also at the start. Must not fail, must not wait. */
  onTakeOver(take: () => void): void;
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
  /** The OpenAPI document of every route. It is there once all plugins are initialised: from `create` of a policy on. */
  document(): OpenApiDocument;
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
  /** Names of the policies that `init` registers. */
  readonly policies: readonly string[];
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
