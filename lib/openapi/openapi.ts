// The parts of an OpenAPI 3.1 document that the router writes, as types.

/** JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export type Schema = Readonly<Record<string, unknown>>;

/** Upper case, as in HTTP and in gateway.config.yml. GET stands for HEAD as well (RFC 9110 section 9.3.2). */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

export interface Reference {
  readonly $ref: string;
}

export interface Header {
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
  readonly required?: boolean;
  readonly schema?: Schema;
  readonly example?: unknown;
  /** Our extension: the value may contain slashes, which OpenAPI cannot say. */
  readonly 'x-multi-segment'?: true;
}

/** Media type → what it holds. */
export type Content = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>;

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header | Reference>>;
  readonly content?: Content;
}

/** Status code or `default` → answer. */
export type Responses = Readonly<Record<string, Response | Reference>>;

/** Security scheme → scopes. A list of them means that one is enough. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

export interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly description?: string; readonly required?: boolean; readonly content: Content };
  readonly responses?: Responses;
  readonly security?: readonly SecurityRequirement[];
  /** Our extension: `/docs` has no row for this operation; that of this path stands for it as well. */
  readonly 'x-listed-under'?: string;
}

/** What operations refer to by name. */
export interface Components {
  readonly schemas?: Readonly<Record<string, Schema>>;
  readonly headers?: Readonly<Record<string, Header>>;
  readonly responses?: Readonly<Record<string, Response>>;
  readonly securitySchemes?: Readonly<Record<string, unknown>>;
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  /** Path template → method in lower case → operation. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Components;
  /** Our extension: the answers to whatever is none of the operations above. */
  readonly 'x-not-routed': { readonly responses: Responses };
}
