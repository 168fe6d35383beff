// Policies: what gateway.config.yml may say of one (its declaration), and what it does with requests.

import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import type { Static, TSchema } from 'typebox';
import type { Config } from '#lib/config/schema.ts';
import type { Endpoint, PolicyDescription } from '#lib/openapi/description.ts';
import type { RequestContext } from './plugin-api.ts';
import type { GatewayRoute } from './gateway-routes.ts';

/** One step of a pipeline. It answers, or calls `next()`. Whatever it throws or rejects with becomes a problem document. */
export type Handler = (request: Request, response: Response, next: NextFunction) => void | Promise<void>;

/** A request whose pipeline is known and has not begun. Nothing of it may be changed. */
export interface SheddingRequest {
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
export interface SheddingCheck {
  /** True while this policy is refusing requests: nothing is looked at early unless one of them is. */
  readonly isRefusing?: () => boolean;
  /**
   * Asked in the order of the pipeline. `unsure` sends the request through it.
   * @throws Problem that the policy would answer with
   */
  readonly look: (early: SheddingRequest) => 'unsure' | void;
}

/** Where a policy stands in gateway.config.yml. */
export interface PolicyPlace {
  readonly config: Config;
  /** Directory that relative paths of files begin at. */
  readonly rootDir: string;
  /** The apiEndpoints of its pipeline. */
  readonly endpoints: readonly Endpoint[];
  /** Every route of the gateway configuration. Parameters of other policies may not have been checked yet. */
  readonly routes: readonly GatewayRoute[];
}

/** Something wrong with the parameters of a policy: what is wrong, and what to do. */
export interface ParameterProblem {
  /** The parameter whose line the message names; the parameters as a whole when absent. */
  readonly parameter?: string;
  readonly message: string;
}

/** What can be known of a policy without starting its plugin. Nothing of it has side effects. */
export interface PolicyDeclaration {
  readonly name: string;
  /** JSON Schema of the `action` in gateway.config.yml; parameters that it does not name are refused. */
  readonly schema: TSchema & { readonly $id: string };
  /** What is wrong with parameters that the schema accepts. */
  readonly check?: (parameters: never, place: PolicyPlace) => readonly ParameterProblem[];
  /** What one place of the policy adds to the OpenAPI document; nothing when absent. */
  readonly describe?: (parameters: never, place: PolicyPlace) => PolicyDescription;
}

/** A declaration that knows the type of its parameters. */
export interface DeclaredPolicy<S extends TSchema> extends PolicyDeclaration {
  readonly schema: PolicyDeclaration['schema'] & S;
}

/** A policy as Express Gateway registers it; `policy` is called once per place in gateway.config.yml. */
export interface Policy {
  readonly name: string;
  readonly policy: (action: never) => Handler;
  /**
   * What it can say before the pipeline begins, called once for each apiEndpoint. Nothing behind a policy without it is
   * refused early.
   */
  readonly early?: (action: never) => SheddingCheck;
}

/**
 * Declares a policy: `service-router check` and the router check gateway.config.yml by it before any plugin is started.
 * @param declaration `schema`: TypeBox object of its parameters (units in the descriptions); `check`: finds what no
 *   schema can say; `describe`: says the same of the parameters in the OpenAPI document
 */
export function declarePolicy<S extends TSchema>(declaration: {
  name: string;
  schema: S;
  check?: (parameters: Static<S>, place: PolicyPlace) => readonly ParameterProblem[];
  describe?: (parameters: Static<S>, place: PolicyPlace) => PolicyDescription;
}): DeclaredPolicy<S> {
  return { ...declaration, schema: { ...declaration.schema, $id: `urn:service-router:policy:${declaration.name}` } };
}

/**
 * Defines what a declared policy does.
 * @param definition `create`: builds the handler from checked parameters, without side effects; `early`: refuses before
 *   the pipeline begins
 */
export function definePolicy<S extends TSchema>(
  { name }: DeclaredPolicy<S>,
  definition: {
    create: (parameters: Static<S>) => Handler;
    early?: (parameters: Static<S>) => SheddingCheck;
  },
): Policy {
  const { create, early } = definition;
  return { name, policy: create as Policy['policy'], ...(early && { early: early as NonNullable<Policy['early']> }) };
}
