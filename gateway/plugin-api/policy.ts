// The policy API: declarations (parameters, checks, OpenAPI) and implementations (handler, load shedding) of policies.

import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import type { Static, TSchema } from 'typebox';
import type { Config } from '#lib/config/schema.ts';
import type { Endpoint, PolicyDescription } from '#lib/openapi/description.ts';
import type { RequestContext } from './request-context.ts';
import type { GatewayRoute } from './gateway-routes.ts';

/** Handler of one pipeline step. It responds or calls `next()`. Errors and rejections become problem documents. */
export type Handler = (request: Request, response: Response, next: NextFunction) => void | Promise<void>;

/** A request before its pipeline runs. A load-shedding check must not modify it. */
export interface SheddingRequest {
  readonly request: IncomingMessage;
  /** `route` is set; a check may set the fields that its policy would set anyway. */
  readonly context: RequestContext;
  /** Path parameters of the apiEndpoint, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Load-shedding check of one pipeline step: rejects a request before its pipeline runs. Without this check, most of the
 * cost of a rejection under overload comes from running the pipeline up to the step that rejects.
 */
export interface SheddingCheck {
  /** True while this policy rejects requests. No check runs unless at least one policy is rejecting. */
  readonly isShedding?: () => boolean;
  /**
   * Called in pipeline order. Returns `unsure` to leave the decision to the pipeline.
   * @throws Problem that the policy would respond with
   */
  readonly check: (request: SheddingRequest) => 'unsure' | void;
}

/** Context of a pipeline step in gateway.config.yml. */
export interface PolicyContext {
  readonly config: Config;
  /** Base directory of relative file paths. */
  readonly rootDir: string;
  /** The apiEndpoints of the pipeline. */
  readonly endpoints: readonly Endpoint[];
  /** All routes of the gateway configuration. The parameters of other policies might not have been validated yet. */
  readonly routes: readonly GatewayRoute[];
}

/** A problem with the parameters of a policy. */
export interface ParameterProblem {
  /** The parameter whose line is reported; when absent, the line of the whole action is reported. */
  readonly parameter?: string;
  /** What is wrong, and how to fix it. */
  readonly message: string;
}

/** Limits that one step of a route sets, or that all its steps set together. They are shown to operators. */
export interface RouteLimits {
  /** Rate limits; `by` says whether each client has its own window (`client`) or all clients share one (`route`). */
  readonly rates?: readonly { readonly by: string; readonly requests: number; readonly windowSeconds: number }[];
  /** Limits on concurrent requests, except those that the configuration sets for individual clients. */
  readonly inFlight?: readonly { readonly by: string; readonly requests: number }[];
  /** The path parameter whose value must be among the client's MIS codes. */
  readonly misCodes?: string;
  /** Largest request body of a route with a workflow. */
  readonly maxBodyBytes?: number;
  /** Largest response body of a route with a workflow. */
  readonly maxResponseBytes?: number;
}

/** A hypothetical request with an access token, for `service-router token`. It is never sent. */
export interface PlannedRequest {
  readonly clientId: string;
  readonly scopes: ReadonlySet<string>;
  readonly method: string;
  /** Raw path, such as `/adaptor/001/x`; without it, checks that need a path are skipped. */
  readonly path?: string;
  /** Path parameters of the apiEndpoint, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/** Why a policy refuses a request. */
export interface Refusal {
  /** HTTP status of the response. */
  readonly status: number;
  /** A sentence for operators. */
  readonly reason: string;
}

/**
 * Declaration of a policy, available without starting its plugin. The functions of a declaration have no side effects.
 */
export interface PolicyDeclaration {
  readonly name: string;
  /** JSON Schema of the `action` in gateway.config.yml; unknown parameters are rejected. */
  readonly schema: TSchema & { readonly $id: string };
  /**
   * Whether a step of the policy responds to every request that reaches it, at least with a problem document. If a step
   * of such a policy has no condition, no step may follow it.
   */
  readonly alwaysResponds?: boolean;
  /** Whether a step of the policy needs to know the client. If so, the step must not come before `bearer`. */
  readonly needsClient?: boolean;
  /** Returns problems that the schema cannot detect. */
  readonly check?: (parameters: never, place: PolicyContext) => readonly ParameterProblem[];
  /** Returns what one step adds to the OpenAPI document. Without this function, the policy adds nothing. */
  readonly describe?: (parameters: never, place: PolicyContext) => PolicyDescription;
  /** Returns the limits that one step sets. Without this function, the policy sets none. */
  readonly limits?: (parameters: never, config: Config) => RouteLimits;
  /** Returns why a step rejects a request, regardless of the load; undefined when it accepts the request. */
  readonly judge?: (parameters: never, request: PlannedRequest, config: Config) => Refusal | undefined;
}

/** A declaration with the type of its parameters. */
export interface DeclaredPolicy<S extends TSchema> extends PolicyDeclaration {
  readonly schema: PolicyDeclaration['schema'] & S;
}

/** An implemented policy. */
export interface Policy {
  readonly name: string;
  /**
   * Creates the handler; called once for each step in gateway.config.yml.
   * @param stepId identifies the step in its pipeline, for example for counters. It is the same in all routers, and
   *   stays the same after a reload that changes neither the parameters nor the condition of the step
   */
  readonly policy: (action: never, stepId: string) => Handler;
  /**
   * Creates the load-shedding check; called once for each apiEndpoint. If a policy without a check comes before a step
   * whose check has `isShedding`, no check of the pipeline runs.
   */
  readonly loadShedding?: (action: never) => SheddingCheck;
}

/**
 * Declares a policy. `service-router check` and the router validate gateway.config.yml against the declaration before
 * any plugin starts.
 * @param declaration `schema`: TypeBox object of the parameters (units in the descriptions); `alwaysResponds`,
 *   `needsClient`: where a step of the policy may stand in a pipeline; `check`: detects problems that the schema
 *   cannot; `describe`: the effect of the policy on the OpenAPI document; `limits`,
 *   `judge`: the limits of the policy's steps, and the reasons why they reject requests, for operators
 */
export function declarePolicy<S extends TSchema>(declaration: {
  name: string;
  schema: S;
  alwaysResponds?: boolean;
  needsClient?: boolean;
  check?: (parameters: Static<S>, place: PolicyContext) => readonly ParameterProblem[];
  describe?: (parameters: Static<S>, place: PolicyContext) => PolicyDescription;
  limits?: (parameters: Static<S>, config: Config) => RouteLimits;
  judge?: (parameters: Static<S>, request: PlannedRequest, config: Config) => Refusal | undefined;
}): DeclaredPolicy<S> {
  return { ...declaration, schema: { ...declaration.schema, $id: `urn:service-router:policy:${declaration.name}` } };
}

/**
 * Implements a declared policy.
 * @param definition `create`: creates the handler from validated parameters and the `stepId` of {@link Policy.policy},
 *   without side effects; `loadShedding`: creates the load-shedding check
 */
export function definePolicy<S extends TSchema>(
  { name }: DeclaredPolicy<S>,
  definition: {
    create: (parameters: Static<S>, stepId: string) => Handler;
    loadShedding?: (parameters: Static<S>) => SheddingCheck;
  },
): Policy {
  const { create, loadShedding } = definition;
  return {
    name,
    policy: create as Policy['policy'],
    ...(loadShedding && { loadShedding: loadShedding as NonNullable<Policy['loadShedding']> }),
  };
}
