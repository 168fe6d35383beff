// Assembles one operation of the document from its path, the policies of its pipeline and the problems of every path.

import type { ProblemCode } from '#lib/problem/catalogue.ts';
import type { Description, ListedOperation } from './description.ts';
import { headerRef } from './headers.ts';
import type { Header, Operation, Parameter, Reference, Response, Responses } from './openapi.ts';
import { type FieldsOfProblem, problemResponses } from './problem-responses.ts';
import { pathParametersOf } from './templates.ts';

/** Problems of the HTTP server and the request guard, which any request may cause. */
export const problemsOfEveryPath: readonly ProblemCode[] = [
  'malformed-request',
  'request-timeout',
  'expectation-failed',
  'too-many-requests',
  'header-fields-too-large',
  'too-many-connections',
  'internal-error',
];

/** Input of {@link assembleOperation}. */
export interface OperationParts {
  readonly listed: ListedOperation;
  readonly tag: string;
  /** Default summary. */
  readonly summary: string | undefined;
  /** One description per policy of the pipeline, in order. */
  readonly descriptions: readonly Description[];
}

/** Returns the operation. @param addResponse adds a shared response to the components and returns its reference */
export function assembleOperation(
  { listed, tag, summary, descriptions }: OperationParts,
  addResponse: (name: string, response: Response) => Reference,
): Operation {
  const { method, path, operation } = listed;
  const title = operation.summary ?? summary;
  const requestBody = operation.requestBody ?? lastOf(descriptions, ({ requestBody: body }) => body);
  const security = operation.security ?? lastOf(descriptions, ({ security: schemes }) => schemes);
  const parameters = mergeParameters([
    ...pathParametersOf(path),
    ...descriptions.flatMap(({ parameters: added = [] }) => added),
    ...(operation.parameters ?? []),
  ]);
  const added = descriptions.map(({ responses }) => responses);
  const own = Object.assign({}, ...added, operation.responses) as Responses;
  const headers = Object.assign({}, ...descriptions.map(({ headers: fields }) => fields)) as Response['headers'];
  const codes = new Set([...problemsOfEveryPath, ...descriptions.flatMap(({ problems = [] }) => problems)]);
  return {
    operationId: operation.operationId ?? operationIdOf(method, path),
    ...(title === undefined ? {} : { summary: title }),
    ...(operation.description === undefined ? {} : { description: operation.description }),
    tags: [tag],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(requestBody === undefined ? {} : { requestBody }),
    responses: mergeResponses(
      withHeaders(own, headers),
      problemResponses(codes, fieldsOfProblems(descriptions)),
      addResponse,
    ),
    // An empty list means that no credentials are required.
    security: security ?? [],
    ...(operation['x-listed-under'] === undefined ? {} : { 'x-listed-under': operation['x-listed-under'] }),
  };
}

function lastOf<T>(descriptions: readonly Description[], read: (from: Description) => T | undefined): T | undefined {
  return descriptions.map(read).findLast((value) => value !== undefined);
}

/** Returns an id such as `get-adaptor-mis-path`. */
function operationIdOf(method: string, path: string): string {
  return [method.toLowerCase(), ...(path.match(/[\w.-]+/g) ?? [])].join('-');
}

/**
 * Merges parameters with the same name and location; later parameters take precedence. Path parameters that the path
 * does not have are dropped.
 */
function mergeParameters(parameters: readonly Parameter[]): Parameter[] {
  const merged = new Map<string, Parameter>();
  for (const parameter of parameters) {
    const key = `${parameter.in} ${parameter.name}`;
    const before = merged.get(key);
    if (before === undefined && parameter.in === 'path' && parameter.required !== true) continue;
    merged.set(key, { ...before, ...parameter, schema: { ...before?.schema, ...parameter.schema } });
  }
  return [...merged.values()];
}

function withHeaders(responses: Responses, headers: Response['headers']): [string, Response][] {
  return Object.entries(responses as Record<string, Response>).map(([status, response]) => [
    status,
    { ...response, headers: { 'X-Request-Id': headerRef('XRequestId'), ...headers, ...response.headers } },
  ]);
}

/**
 * Returns the header fields of a problem's response: a policy adds its fields when the problem is raised by that policy
 * or a later one. Any policy may raise `internal-error`.
 */
function fieldsOfProblems(descriptions: readonly Description[]): FieldsOfProblem {
  return (code) => {
    const raisedBy = descriptions.findLastIndex(({ problems = [] }) => problems.includes(code));
    const passed = code === 'internal-error' ? descriptions : descriptions.slice(0, raisedBy + 1);
    return Object.assign({}, ...passed.map(({ problemHeaders }) => problemHeaders)) as ReturnType<FieldsOfProblem>;
  };
}

/** Combines the responses of the back end and the router for a status that both may send. */
function mergeResponses(
  own: readonly [string, Response][],
  problems: ReturnType<typeof problemResponses>,
  addResponse: (name: string, response: Response) => Reference,
): Responses {
  const merged: Record<string, Response | Reference> = Object.fromEntries(own);
  const fallback = own.find(([status]) => status === 'default')?.[1];
  for (const [status, { name, response }] of problems) {
    const ownResponse = own.find(([ownStatus]) => ownStatus === status)?.[1] ?? fallback;
    merged[status] = addResponse(name, ownResponse === undefined ? response : eitherOf(ownResponse, response));
  }
  return merged;
}

function eitherOf(own: Response, problem: Response): Response {
  const headers: Record<string, Header | Reference> = {};
  const names = new Set([...Object.keys(own.headers ?? {}), ...Object.keys(problem.headers ?? {})]);
  for (const name of names) {
    const [ofOwn, ofProblem] = [own.headers?.[name], problem.headers?.[name]];
    const same = JSON.stringify(ofOwn) === JSON.stringify(ofProblem);
    headers[name] = same ? (ofOwn as Reference) : optional(ofOwn ?? ofProblem);
  }
  return {
    description: `${own.description} From the router itself: ${problem.description}`,
    headers,
    content: { ...own.content, ...problem.content },
  };
}

/**
 * Returns a header field as optional, because only one of two alternative responses has it, or because the two define
 * it differently.
 */
function optional(header: Header | Reference | undefined): Header {
  const description =
    header !== undefined && 'description' in header
      ? header.description
      : 'Present only in some of the responses with this status.';
  return { description, schema: { type: 'string' } };
}
