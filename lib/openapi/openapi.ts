// Defines types for the parts of an OpenAPI 3.1 document that the router generates.

/** JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export type Schema = Readonly<Record<string, unknown>>;

/** A method in upper case, as in HTTP and in gateway.config.yml. GET also covers HEAD (RFC 9110 section 9.3.2). */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

/** A reference to a component. */
export interface Reference {
  readonly $ref: string;
}

/** A header field of a response. */
export interface Header {
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

/** A parameter of an operation. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
  readonly required?: boolean;
  readonly schema?: Schema;
  readonly example?: unknown;
  /** Extension of the router: the value may contain slashes, which OpenAPI cannot express. */
  readonly 'x-multi-segment'?: true;
}

/** Media type → schema of the body. */
export type Content = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>;

/** A response of an operation. */
export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header | Reference>>;
  readonly content?: Content;
}

/** Status code or `default` → response. */
export type Responses = Readonly<Record<string, Response | Reference>>;

/** Security scheme → scopes. When a list contains several requirements, a request has to meet at least one of them. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

/** An operation: one method of one path. */
export interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly description?: string; readonly required?: boolean; readonly content: Content };
  readonly responses?: Responses;
  readonly security?: readonly SecurityRequirement[];
  /** Extension of the router: path whose row in `/docs` also represents this operation. */
  readonly 'x-listed-under'?: string;
}

/** Components that operations refer to by name. */
export interface Components {
  readonly schemas?: Readonly<Record<string, Schema>>;
  readonly headers?: Readonly<Record<string, Header>>;
  readonly responses?: Readonly<Record<string, Response>>;
  readonly securitySchemes?: Readonly<Record<string, unknown>>;
}

/** The description of the whole router (OpenAPI 3.1, section 4.8.1 "OpenAPI Object"). */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  /** Path template → method in lower case → operation. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Components;
  /** Extension of the router: responses to requests that match no operation. */
  readonly 'x-not-routed': { readonly responses: Responses };
}
