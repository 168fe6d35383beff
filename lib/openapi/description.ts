// Defines the descriptions that policies contribute to the OpenAPI document.

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

/** Method and path of an operation. */
export interface Place {
  readonly method: Method;
  /** OpenAPI path template. */
  readonly path: string;
}

/** An apiEndpoint of gateway.config.yml. */
export interface Endpoint {
  readonly name: string;
  /** The endpoint's paths as OpenAPI templates. */
  readonly templates: readonly string[];
  readonly methods: readonly Method[];
}

/** A policy's contribution to an operation. */
export interface Description {
  /** Problems that the policy may respond with. */
  readonly problems?: readonly ProblemCode[];
  /** Alternative requirements; one is sufficient. */
  readonly security?: readonly SecurityRequirement[];
  /** Parameters outside the path, and details of path parameters that the template does not express. */
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: NonNullable<Operation['requestBody']>;
  /** Responses of the policy; the operation's own responses take precedence. */
  readonly responses?: Responses;
  /** Header fields of every response that is not a problem of the router. */
  readonly headers?: Readonly<Record<string, Header | Reference>>;
  /** Optional header fields of problems that this policy or a later one raises. */
  readonly problemHeaders?: Readonly<Record<string, Header | Reference>>;
  readonly components?: Components;
  /** Components from the description of a back end; `file` names it in messages. */
  readonly backEnd?: { readonly file: string; readonly components: Components };
  /** True when the operation is the token endpoint (RFC 6749 section 3.2). */
  readonly tokenEndpoint?: true;
  /** True when the configuration disables the operation; the document then omits it. */
  readonly hidden?: boolean;
}

/** One operation of an endpoint, more specific than the endpoint's path patterns. */
export interface ListedOperation extends Place {
  readonly operation: Operation;
}

/** One operation with the descriptions of its policies. The tag is the endpoint's name. */
export interface Described extends ListedOperation {
  readonly tag: string;
  readonly descriptions: readonly Description[];
}

/** The description of one policy of a pipeline. */
export interface PolicyDescription {
  /** Returns the policy's contribution to an operation. */
  operation?(place: Place): Description;
  /** Returns all operations of the endpoint. Default: each path of gateway.config.yml with each of its methods. */
  operations?(endpoint: Endpoint): readonly ListedOperation[];
}
