// Generates OpenAPI schemas and responses from the problem catalogue.

import { type ProblemCode, problemKinds } from '#lib/problem/catalogue.ts';
import { problemExplanations } from '#lib/problem/explanations.ts';
import { problemType } from '#lib/problem/problem.ts';
import { headerRef } from './headers.ts';
import type { Header, Reference, Response, Schema } from './openapi.ts';

/** Media type of problem documents (RFC 9457). */
const problemMediaType = 'application/problem+json';

const text = (description: string) => ({ type: 'string', description });

const base: Schema = {
  type: 'object',
  description: 'A problem document (RFC 9457). `type` leads to a page that says what to do.',
  required: ['type', 'title', 'status', 'requestId'],
  properties: {
    type: {
      type: 'string',
      format: 'uri-reference',
      description: 'The kind of problem, as the path of a page that explains it.',
    },
    title: text('The same for every occurrence of a type.'),
    status: { type: 'integer', description: 'The status of the response.' },
    detail: text('What happened this time.'),
    requestId: text('The value of `X-Request-Id`; in a replayed response, the id of the earlier request.'),
    executionId: text('The value of `X-Execution-Id`, once there is an execution.'),
    mayStillComplete: { type: 'boolean', description: 'True when a write may still be applied.' },
    execution: text('The path of the execution: `self` of `links`.'),
    links: {
      type: 'object',
      description:
        'Paths of the execution for the client: `self` is its status, `response` its response once there is one.',
      properties: { self: text('A path of the router.'), response: text('A path of the router.') },
    },
    error: text(
      'A code for clients that read no other member: `temporarily_unavailable` on the token path; `EXPIRED_TOKEN` or `INVALID_TOKEN` in a 401 of the API that Conductor SDKs use.',
    ),
  },
};

/** Returns `components.schemas`: `Problem`, and one schema per problem code. */
export function problemSchemas(): Record<string, Schema> {
  const codes = Object.keys(problemKinds) as ProblemCode[];
  return { Problem: base, ...Object.fromEntries(codes.map((code) => [nameOf(code), schemaOf(code)])) };
}

function nameOf(code: ProblemCode): string {
  return `problem.${code}`;
}

function schemaOf(code: ProblemCode): Schema {
  const { status, title } = problemKinds[code];
  const { happened, advice } = problemExplanations[code];
  return {
    title: code,
    description: `${happened} What to do: ${advice}.`,
    allOf: [{ $ref: '#/components/schemas/Problem' }],
    properties: { type: { const: problemType(code) }, title: { const: title }, status: { const: status } },
  };
}

type Fields = Readonly<Record<string, Header | Reference>>;

/** Returns the header fields that policies add to the response of a problem. */
export type FieldsOfProblem = (code: ProblemCode) => Fields;

/** Returns the responses for these problems by status, each with its name in `components.responses`. */
export function problemResponses(
  codes: ReadonlySet<ProblemCode>,
  fieldsOf: FieldsOfProblem = () => ({}),
): Map<string, { name: string; response: Response }> {
  const byStatus = Map.groupBy([...codes].sort(), (code) => String(problemKinds[code].status));
  return new Map(
    [...byStatus].map(([status, group]) => [
      status,
      { name: [status, ...group].join('.'), response: responseOf(status, group, fieldsOf) },
    ]),
  );
}

function responseOf(status: string, codes: readonly ProblemCode[], fieldsOf: FieldsOfProblem): Response {
  const schemas = codes.map((code) => ({ $ref: `#/components/schemas/${nameOf(code)}` }));
  const [only] = schemas;
  return {
    description: codes.map((code) => `\`${code}\`: ${problemKinds[code].title}.`).join(' '),
    headers: {
      'X-Request-Id': headerRef('XRequestId'),
      'Cache-Control': headerRef('CacheControl'),
      ...(Object.assign({}, ...codes.map(fieldsOf)) as Fields),
      ...headersOf(status, codes),
    },
    content: { [problemMediaType]: { schema: schemas.length === 1 ? (only as Schema) : { oneOf: schemas } } },
  };
}

const executionHeaders = {
  'Retry-After': headerRef('RetryAfterOptional'),
  'X-Execution-Id': headerRef('XExecutionIdOptional'),
};

/** Returns the header fields that a status requires. A field that only some of the codes have is optional. */
function headersOf(status: string, codes: readonly ProblemCode[]): Fields {
  switch (status) {
    case '400':
      return { 'WWW-Authenticate': headerRef('WWWAuthenticateOptional') };
    case '401':
      return { 'WWW-Authenticate': headerRef('WWWAuthenticate') };
    case '403':
      return {
        'WWW-Authenticate': headerRef(
          codes.every((code) => code === 'insufficient-scope') ? 'WWWAuthenticate' : 'WWWAuthenticateOptional',
        ),
      };
    case '404':
      return codes.includes('answer-pending') ? executionHeaders : {};
    case '405':
      return { Allow: headerRef('Allow') };
    case '409':
      return executionHeaders;
    case '422':
      return { 'X-Execution-Id': headerRef('XExecutionIdOptional') };
    case '429':
      return {
        'Retry-After': headerRef('RetryAfter'),
        'X-Execution-Id': headerRef('XExecutionIdOptional'),
      };
    case '503':
      return { 'Retry-After': headerRef('RetryAfter'), 'X-Execution-Id': headerRef('XExecutionIdOptional') };
    case '502':
    case '504':
      return { 'X-Execution-Id': headerRef('XExecutionIdOptional') };
    default:
      return {};
  }
}
