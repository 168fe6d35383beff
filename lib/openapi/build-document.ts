// Builds the OpenAPI 3.1 document of the router from gateway.config.yml and the descriptions of its policies.

import type { Described, Description, Endpoint, ListedOperation, PolicyDescription } from './description.ts';
import { commonHeaders } from './headers.ts';
import type { Components, OpenApiDocument, Operation, Response, Responses, Schema } from './openapi.ts';
import { assembleOperation, problemsOfEveryPath } from './operation.ts';
import { problemResponses, problemSchemas } from './problem-responses.ts';
import { securitySchemes } from './security-schemes.ts';

/** An apiEndpoint with the policies of its pipeline, in order. */
export interface DescribedEndpoint extends Endpoint {
  readonly summary?: string | undefined;
  readonly policies: readonly PolicyDescription[];
}

const introduction = `Every request to a back end runs as one execution of a workflow, and the response is the back end's. The router's own errors are problem documents (RFC 9457), whose \`type\` leads to a page that says what happened and what to do. Errors of the OAuth token endpoint follow RFC 6749 instead.

* **503** means that no write was started: send the same request again after \`Retry-After\` seconds.
* **504** means that the outcome is not known: a read may be repeated; check the outcome before you repeat a write.
* **Prefer** makes a long request asynchronous: the response is 202, and \`Location\` is the path of its result. **Idempotency-Key** makes a write safe to repeat.
* HEAD is supported wherever GET is, except for the engine's own API. Any other path gets 404, any other method 405 with \`Allow\` (404 on the engine's own API).
* A trailing slash in a path is accepted and passed on.`;

/**
 * Builds the document, in steps between which the caller can yield to the event loop.
 * @param version version of the product
 * @throws Error when two descriptions contradict each other
 */
export function* buildInSteps(
  endpoints: readonly DescribedEndpoint[],
  version: string,
): Generator<undefined, OpenApiDocument, undefined> {
  const responses = new SharedResponses();
  const addResponse = (name: string, response: Response) => ({
    $ref: `#/components/responses/${responses.add(name, response)}`,
  });
  const operations: Described[] = [];
  for (const endpoint of endpoints) {
    operations.push(...describeOperations(endpoint));
    yield;
  }
  const paths: Record<string, Record<string, Operation>> = {};
  for (const { tag, descriptions, ...listed } of operations) {
    const summary = endpoints.find(({ name }) => name === tag)?.summary;
    const item = (paths[listed.path] ??= {});
    const method = listed.method.toLowerCase();
    // OpenAPI has no host per operation, and endpoints of different hosts may have different policies.
    if (item[method] !== undefined)
      throw new Error(
        `${listed.method} ${listed.path} is described twice: two endpoints must not have the same path and method, even with different hosts`,
      );
    item[method] = assembleOperation({ listed, tag, summary, descriptions }, addResponse);
    yield;
  }
  const notRouted = notRoutedResponses(addResponse);
  const described = operations.flatMap(({ descriptions }) => descriptions);
  return {
    openapi: '3.1.0',
    info: { title: 'Service Router', version, description: introduction },
    servers: [{ url: '/' }],
    tags: tagsOf(endpoints, operations),
    paths,
    components: {
      schemas: { ...mergeSchemas(described), ...problemSchemas() },
      responses: responses.byName,
      headers: commonHeaders,
      securitySchemes: securitySchemes(operations),
    },
    'x-not-routed': { responses: notRouted },
  };
}

function describeOperations(endpoint: DescribedEndpoint): Described[] {
  const { name: tag, templates, methods, policies } = endpoint;
  const listing = policies.find(({ operations }) => operations !== undefined);
  const listed =
    listing?.operations?.(endpoint) ??
    templates.flatMap((path) => methods.map((method): ListedOperation => ({ method, path, operation: {} })));
  return listed
    .map((each) => ({ ...each, tag, descriptions: policies.map(({ operation }) => operation?.(each) ?? {}) }))
    .filter(({ descriptions }) => !descriptions.some(({ hidden }) => hidden));
}

function tagsOf(endpoints: readonly DescribedEndpoint[], operations: readonly Described[]): OpenApiDocument['tags'] {
  return endpoints
    .filter(({ name }) => operations.some(({ tag }) => tag === name))
    .map(({ name, summary }) => ({ name, ...(summary === undefined ? {} : { description: summary }) }));
}

/** Merges the schemas. @throws Error that names both origins when two different schemas have the same name */
function mergeSchemas(descriptions: readonly Description[]): Record<string, Schema> {
  const merged = new Map<string, { readonly schema: Schema; readonly origin: string }>();
  for (const { name, ...each } of descriptions.flatMap(schemasOf)) {
    const known = merged.get(name);
    if (known === undefined) merged.set(name, each);
    else if (JSON.stringify(known.schema) !== JSON.stringify(each.schema))
      throw new Error(
        `two descriptions have a schema named ${name}: ${known.origin} and ${each.origin}; rename one of the two schemas`,
      );
  }
  return Object.fromEntries([...merged].map(([name, { schema }]) => [name, schema]));
}

function schemasOf({ components, backEnd }: Description): { name: string; schema: Schema; origin: string }[] {
  const named = (schemas: Components['schemas'], origin: string) =>
    Object.entries(schemas ?? {}).map(([name, schema]) => ({ name, schema, origin }));
  return [
    ...named(components?.schemas, 'the description of a policy'),
    ...(backEnd === undefined ? [] : named(backEnd.components.schemas, backEnd.file)),
  ];
}

/** Deduplicates responses that several operations share. */
class SharedResponses {
  readonly byName: Record<string, Response> = {};
  /** The JSON of each response by the requested name, in the order of the calls of {@link add}. */
  readonly #texts = new Map<string, string[]>();

  /** Adds a response. @returns its name: `name`, with a number appended when a different response has that name */
  add(name: string, response: Response): string {
    const texts = this.#texts.get(name) ?? [];
    this.#texts.set(name, texts);
    const text = JSON.stringify(response);
    const known = texts.indexOf(text);
    const count = known === -1 ? texts.push(text) : known + 1;
    const given = count === 1 ? name : `${name}.${count}`;
    this.byName[given] ??= response;
    return given;
  }
}

function notRoutedResponses(addResponse: (name: string, response: Response) => { $ref: string }): Responses {
  const codes = new Set([...problemsOfEveryPath, 'not-found', 'method-not-allowed'] as const);
  return Object.fromEntries(
    [...problemResponses(codes)].map(([status, { name, response }]) => [status, addResponse(name, response)]),
  );
}
