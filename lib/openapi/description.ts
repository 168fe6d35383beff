// What a policy says about itself, from which the OpenAPI document is put together.

import type { ProblemCode } from '#lib/problem/catalogue.ts';
import type {
  Components,
  Header,
  Method,
  Operation,
  Parameter,
  Reference,
  Responses,
  SecurityRequirement,
} from './openapi.ts';

/** One operation that a policy stands in front of. */
export interface Place {
  readonly method: Method;
  /** OpenAPI path template. */
  readonly path: string;
}

/** An apiEndpoint of gateway.config.yml. */
export interface Endpoint {
  readonly name: string;
  /** Its paths as OpenAPI templates. */
  readonly templates: readonly string[];
  readonly methods: readonly Method[];
}

/** What a policy adds to an operation. */
export interface Description {
  /** Problems it may answer with. */
  readonly problems?: readonly ProblemCode[];
  /** Any one of them lets a request through. */
  readonly security?: readonly SecurityRequirement[];
  /** Only for those that OpenAPI's path template cannot describe by itself, or that are no part of the path. */
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: NonNullable<Operation['requestBody']>;
  /** Its own answers; those of the operation itself win. */
  readonly responses?: Responses;
  /** Header fields on every answer that is not a problem of the router. */
  readonly headers?: Readonly<Record<string, Header | Reference>>;
  /** Header fields that a problem may have as well, when this policy or one behind it raised it: all of them optional. */
  readonly problemHeaders?: Readonly<Record<string, Header | Reference>>;
  readonly components?: Components;
  /** Clients get their access tokens here (RFC 6749 section 3.2). */
  readonly tokenEndpoint?: true;
  /** Nothing is served here, by configuration: the document does not mention it. */
  readonly hidden?: boolean;
}

/** One operation of an endpoint whose paths are wider than what is served below them. */
export interface ListedOperation extends Place {
  readonly operation: Operation;
}

/** One operation with what was said of it; its tag is the endpoint's name. */
export interface Described extends ListedOperation {
  readonly tag: string;
  readonly descriptions: readonly Description[];
}

/** A policy at one place in gateway.config.yml. */
export interface PolicyDescription {
  operation?(place: Place): Description;
  /** Every operation of the endpoint; without it, each of the map's paths with each of its methods is one. */
  operations?(endpoint: Endpoint): readonly ListedOperation[];
}
