// One operation of the document: what its path says, what each policy of its pipeline adds, and what every path has.

import type { ProblemCode } from '#lib/problem/catalogue.ts';
import type { Description, ListedOperation } from './description.ts';
import { headerRef } from './headers.ts';
import type { Header, Operation, Parameter, Reference, Response, Responses } from './openapi.ts';
import { type FieldsOfProblem, problemResponses } from './problem-responses.ts';
import { pathParametersOf } from './templates.ts';

/** Problems of the server and of the guard in front of everything: any request can be answered with them. */
export const problemsOfEveryPath: readonly ProblemCode[] = [
  'malformed-request',
  'request-timeout',
  'expectation-failed',
  'too-many-requests',
  'header-fields-too-large',
  'too-many-connections',
  'internal-error',
];

export interface OperationParts {
  readonly listed: ListedOperation;
  readonly tag: string;
  /** For operations without a summary of their own. */
  readonly summary: string | undefined;
  /** By each policy of the pipeline, in order. */
  readonly descriptions: readonly Description[];
}

/** @param addResponse keeps an answer that many operations have among the components */
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
    // Without one, anybody may call it.
    security: security ?? [],
    ...(operation['x-listed-under'] === undefined ? {} : { 'x-listed-under': operation['x-listed-under'] }),
  };
}

function lastOf<T>(descriptions: readonly Description[], read: (from: Description) => T | undefined): T | undefined {
  return descriptions.map(read).findLast((value) => value !== undefined);
}

/** `get-adaptor-mis-path`. */
function operationIdOf(method: string, path: string): string {
  return [method.toLowerCase(), ...(path.match(/[\w.-]+/g) ?? [])].join('-');
}

/** Later ones say more of earlier ones of the same name; what names no parameter of the path is left out. */
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
 * What a policy puts into the answer is there when it, or one behind it, raises a problem; not when one in front of it
 * does. Nobody knows who fails.
 */
function fieldsOfProblems(descriptions: readonly Description[]): FieldsOfProblem {
  return (code) => {
    const raisedBy = descriptions.findLastIndex(({ problems = [] }) => problems.includes(code));
    const passed = code === 'internal-error' ? descriptions : descriptions.slice(0, raisedBy + 1);
    return Object.assign({}, ...passed.map(({ problemHeaders }) => problemHeaders)) as ReturnType<FieldsOfProblem>;
  };
}

/** A status that the back end may answer with as well has both kinds of body. */
function mergeResponses(
  own: readonly [string, Response][],
  problems: ReturnType<typeof problemResponses>,
  addResponse: (name: string, response: Response) => Reference,
): Responses {
  const merged: Record<string, Response | Reference> = Object.fromEntries(own);
  const fallback = own.find(([status]) => status === 'default')?.[1];
  for (const [status, { name, response }] of problems) {
    const ownAnswer = own.find(([ownStatus]) => ownStatus === status)?.[1] ?? fallback;
    merged[status] = addResponse(name, ownAnswer === undefined ? response : eitherOf(ownAnswer, response));
  }
  return merged;
}

function eitherOf(own: Response, problem: Response): Response {
  const headers: Record<string, Header | Reference> = {};
  const names = new Set([...Object.keys(own.headers ?? {}), ...Object.keys(problem.headers ?? {})]);
  for (const name of names) {
    const [ofOwn, ofProblem] = [own.headers?.[name], problem.headers?.[name]];
    const same = JSON.stringify(ofOwn) === JSON.stringify(ofProblem);
    headers[name] = same ? (ofOwn as Reference) : optional(name, ofOwn ?? ofProblem);
  }
  return {
    description: `${own.description} From the router itself: ${problem.description}`,
    headers,
    content: { ...own.content, ...problem.content },
  };
}

/** Only one of the two answers has it. */
function optional(name: string, header: Header | Reference | undefined): Header {
  const description =
    header !== undefined && 'description' in header ? header.description : `${name}, where it applies.`;
  return { description, schema: { type: 'string' } };
}
