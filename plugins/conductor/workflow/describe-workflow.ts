// The OpenAPI description of the workflow policy: the back end's operations and the router's problems.

import { misCodePattern } from '#lib/config/mis-code.ts';
import { type BackEndDescription, operationsBelow } from '#lib/openapi/back-end-description.ts';
import type { Endpoint, ListedOperation, PolicyDescription } from '#lib/openapi/description.ts';
import { headerRef } from '#lib/openapi/headers.ts';
import type { Operation, Parameter, Response, Responses } from '#lib/openapi/openapi.ts';
import { restName, templateOf } from '#lib/openapi/templates.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import { compressedHeaders } from '../execution/compress-response.ts';
import { problemsOfExecutions } from '../execution/execution-problems.ts';
import type { DescribedVersions } from '../versions/describe-versions.ts';
import {
  acceptedBeside,
  describeRetries,
  executionComponents,
  preferAsync,
} from '../async-executions/describe-async.ts';

/** Problem codes of every route with the policy. */
const problems: readonly ProblemCode[] = [
  'shutting-down',
  'body-too-large',
  'engine-unavailable',
  'overloaded',
  'back-end-unavailable',
  'definition-missing',
  'outcome-unknown',
  ...problemsOfExecutions,
];

const problemHeaders = { 'Server-Timing': headerRef('ServerTimingOptional') };

/** The responses of any operation that is missing from the back end's description. */
const anyResponse: Responses = {
  default: { description: "The back end's response, whatever its status and body.", content: { '*/*': {} } },
};

/** The parameters of the policy that the description depends on. */
export interface DescribedWorkflow {
  readonly strip: string;
  /** Path parameter that must be an MIS code. */
  readonly domainOf?: string | undefined;
  /** Whether responses are compressed. */
  readonly compresses: boolean;
  /** Whether writes need an Idempotency-Key; default optional. */
  readonly idempotencyKey?: 'optional' | 'required' | undefined;
}

/** Describes the policy. @param backEnd description of the back end's operations, if there is one */
export function describeWorkflow(
  { strip, domainOf, idempotencyKey, compresses }: DescribedWorkflow,
  versions: DescribedVersions,
  backEnd?: BackEndDescription,
): PolicyDescription {
  const code: Parameter[] =
    domainOf === undefined
      ? []
      : [{ name: domainOf, in: 'path', schema: { type: 'string', pattern: `^${misCodePattern}$` } }];
  return {
    operation({ method }) {
      const retries = describeRetries(method, idempotencyKey === 'required');
      return {
        problems: [
          ...problems,
          ...(domainOf === undefined ? [] : (['unknown-college'] as const)),
          ...versions.problems,
          ...retries.problems,
        ],
        parameters: [...code, preferAsync, ...versions.parameters, ...retries.parameters],
        headers: {
          'X-Execution-Id': headerRef('XExecutionId'),
          ...(compresses ? compressedHeaders : {}),
          ...versions.headers,
          ...problemHeaders,
          ...retries.headers,
        },
        problemHeaders: { ...problemHeaders, ...versions.problemHeaders, ...retries.headers },
        components: executionComponents,
        ...(backEnd === undefined ? {} : { backEnd }),
      };
    },
    operations: (endpoint) => operationsOf(endpoint, templateOf(strip), backEnd),
  };
}

/** Returns the operations in the back end's description, then all other operations of the endpoint. */
function operationsOf(endpoint: Endpoint, prefix: string, backEnd: BackEndDescription | undefined): ListedOperation[] {
  const described = backEnd === undefined ? [] : operationsBelow(backEnd, prefix);
  const describedKeys = new Set(described.map(({ method, path }) => `${method} ${path}`));
  const others = endpoint.templates
    .flatMap((path) => endpoint.methods.map((method) => ({ method, path })))
    .filter(({ method, path }) => !describedKeys.has(`${method} ${path}`))
    .map((place) => ({ ...place, operation: { responses: anyResponse, ...anyBody(place.method) } }));
  return [...described, ...listTogether(others)].map(({ operation, ...place }) => ({
    ...place,
    operation: withAccepted(operation),
  }));
}

/**
 * Lists undescribed operations together: for an endpoint with a wildcard path, `/docs` shows one operation in place of
 * all undescribed operations.
 */
function listTogether(others: readonly ListedOperation[]): readonly ListedOperation[] {
  const shown = others.find(({ path }) => path.endsWith(`{${restName}}`));
  if (shown === undefined) return others;
  const methods = [...new Set(others.map(({ method }) => method))].join(', ');
  return others.map((other) => {
    const listing = other === shown ? { summary: `Any other path: ${methods}` } : { 'x-listed-under': shown.path };
    return { ...other, operation: { ...other.operation, ...listing } };
  });
}

/** Adds the 202 response: every operation accepts `Prefer: respond-async`. */
function withAccepted(operation: Operation): Operation {
  const responses = (operation.responses ?? {}) as Record<string, Response>;
  return { ...operation, responses: { ...responses, 202: acceptedBeside(responses['202'] ?? responses['default']) } };
}

function anyBody(method: string): Pick<ListedOperation['operation'], 'requestBody'> {
  return ['POST', 'PUT', 'PATCH'].includes(method) ? { requestBody: { content: { '*/*': {} } } } : {};
}
