// OpenAPI description of asynchronous executions (`Prefer`) and of retries (`Idempotency-Key`).

import type { Description } from '#lib/openapi/description.ts';
import { headerRef } from '#lib/openapi/headers.ts';
import type { Components, Method, Parameter, Response, Schema } from '#lib/openapi/openapi.ts';
import { executionStates } from './execution-document.ts';

const text = (description: string) => ({ type: 'string', description });
const time = (description: string) => ({ type: 'string', format: 'date-time', description });

const execution: Schema = {
  type: 'object',
  description: 'The status of an execution.',
  required: ['id', 'state', 'route', 'method', 'requestId', 'links'],
  properties: {
    id: text('The `X-Execution-Id` in the response to the request that started the execution.'),
    state: {
      enum: executionStates,
      description:
        '`completed`: the back end has responded, whatever the status. `failed` and `timed-out`: it has not; the link `response` returns the problem.',
    },
    route: text('Name of the endpoint that received the request; also a tag of this document.'),
    method: text('The method of the request.'),
    requestId: text('`X-Request-Id` of the request.'),
    startedAt: time("By the engine's clock."),
    endedAt: time('Absent while the execution runs.'),
    links: {
      type: 'object',
      required: ['self', 'response'],
      properties: {
        self: text('The status of the execution; DELETE cancels the execution.'),
        response: text('The response to the request, once there is one.'),
      },
    },
  },
};

/** The schema that {@link executionRef} refers to. */
export const executionComponents: Components = { schemas: { Execution: execution } };

/** Reference to the schema of the status document. */
export const executionRef: Schema = { $ref: '#/components/schemas/Execution' };

/** `Prefer` of a request that starts an execution. */
export const preferAsync: Parameter = {
  name: 'Prefer',
  in: 'header',
  description:
    '`respond-async`: 202 at once. `wait=5`: the response if it comes within 5 seconds, else 202 (RFC 7240). Other preferences reach the back end.',
  schema: { type: 'string' },
};

/** `Prefer` of a request for the status or the response of an execution. */
export const preferWait: Parameter = {
  name: 'Prefer',
  in: 'header',
  description: '`wait=30`: the response comes when the execution ends, or after 30 seconds (RFC 7240).',
  schema: { type: 'string' },
};

const acceptedHeaders = {
  Location: headerRef('Location'),
  'Retry-After': headerRef('RetryAfter'),
  'Preference-Applied': headerRef('PreferenceApplied'),
};

/** Optional, because a 202 response from the back end does not have these headers. */
const optionalHeaders = {
  Location: headerRef('LocationOptional'),
  'Retry-After': headerRef('RetryAfterOptional'),
  'Preference-Applied': headerRef('PreferenceAppliedOptional'),
};

const description = 'With `Prefer`: the execution continues, and `Location` is the path of its status.';

/**
 * Describes the 202 response.
 * @param own the back end's own response with this status; undefined when there is none
 */
export function acceptedBeside(own: Response | undefined): Response {
  if (own === undefined)
    return { description, headers: acceptedHeaders, content: { 'application/json': { schema: executionRef } } };
  const ownJson = own.content?.['application/json']?.schema ?? {};
  return {
    description: `${description} Or: ${own.description}`,
    headers: { ...optionalHeaders, ...own.headers },
    content: { ...own.content, 'application/json': { schema: { anyOf: [executionRef, ownJson] } } },
  };
}

/** Describes `Idempotency-Key` and its problems. The description is empty for methods that ignore the key. */
export function describeRetries(
  method: Method,
  isRequired: boolean,
): Required<Pick<Description, 'problems' | 'parameters' | 'headers'>> {
  if (method === 'GET' || method === 'OPTIONS') return { problems: [], parameters: [], headers: {} };
  return {
    problems: [
      ...(isRequired ? (['idempotency-key-missing'] as const) : []),
      'malformed-idempotency-key',
      'idempotency-key-in-use',
      'idempotency-key-reused',
      'idempotency-unavailable',
    ],
    parameters: [
      {
        name: 'Idempotency-Key',
        in: 'header',
        ...(isRequired ? { required: true } : {}),
        description:
          'Your own identifier of this request, such as a UUID. A repeated request with the same key starts nothing: it gets the first response, with `Idempotency-Replayed`.',
        schema: { type: 'string', minLength: 1 },
      },
    ],
    headers: { 'Idempotency-Replayed': headerRef('IdempotencyReplayedOptional') },
  };
}
