// What the workflow policy says of itself in the OpenAPI document: the back end's operations, and what can go wrong.

import { type BackEndDescription, operationsBelow } from '#lib/openapi/back-end-description.ts';
import type { Endpoint, ListedOperation, PolicyDescription } from '#lib/openapi/description.ts';
import { headerRef } from '#lib/openapi/headers.ts';
import type { Operation, Parameter, Response, Responses } from '#lib/openapi/openapi.ts';
import { restName, templateOf } from '#lib/openapi/templates.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import { problemsOfExecutions } from '../execution/execution-problems.ts';
import type { DescribedVersions } from '../versions/describe-versions.ts';
import {
  acceptedBeside,
  describeRetries,
  executionComponents,
  preferLater,
} from '../async-executions/describe-later.ts';

/** Those of a route. */
const problems: readonly ProblemCode[] = [
  'shutting-down',
  'body-too-large',
  'engine-unavailable',
  'definition-missing',
  'outcome-unknown',
  ...problemsOfExecutions,
];

const onProblemsAsWell = { 'Server-Timing': headerRef('ServerTimingOptional') };

/** Where nobody has described what the back end answers. */
const anyAnswer: Responses = {
  default: { description: "The back end's own answer, whatever its status and body.", content: { '*/*': {} } },
};

export interface DescribedWorkflow {
  readonly strip: string;
  /** Path parameter that must look like a MIS code. */
  readonly domainOf?: string | undefined;
  /** Whether a write needs an Idempotency-Key. */
  readonly idempotencyKey?: 'optional' | 'required' | undefined;
}

/** @param backEnd what the back end answers, when somebody has described it */
export function describeWorkflow(
  { strip, domainOf, idempotencyKey }: DescribedWorkflow,
  versions: DescribedVersions,
  backEnd?: BackEndDescription,
): PolicyDescription {
  const code: Parameter[] =
    domainOf === undefined
      ? []
      : [{ name: domainOf, in: 'path', schema: { type: 'string', pattern: '^[0-9A-Za-z]{1,8}$' } }];
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
        parameters: [...code, preferLater, ...versions.parameters, ...retries.parameters],
        headers: {
          'X-Execution-Id': headerRef('XExecutionId'),
          ...versions.headers,
          ...onProblemsAsWell,
          ...retries.headers,
        },
        problemHeaders: { ...onProblemsAsWell, ...versions.problemHeaders, ...retries.headers },
        components: { schemas: { ...executionComponents.schemas, ...backEnd?.components.schemas } },
      };
    },
    operations: (endpoint) => operationsOf(endpoint, templateOf(strip), backEnd),
  };
}

/** What the fragment describes, then everything else that the map lets through. */
function operationsOf(endpoint: Endpoint, prefix: string, backEnd: BackEndDescription | undefined): ListedOperation[] {
  const described = backEnd === undefined ? [] : operationsBelow(backEnd, prefix);
  const taken = new Set(described.map(({ method, path }) => `${method} ${path}`));
  const others = endpoint.templates
    .flatMap((path) => endpoint.methods.map((method) => ({ method, path })))
    .filter(({ method, path }) => !taken.has(`${method} ${path}`))
    .map((place) => ({ ...place, operation: { responses: anyAnswer, ...anyBody(place.method) } }));
  return [...described, ...listTogether(others)].map(({ operation, ...place }) => ({
    ...place,
    operation: withAccepted(operation),
  }));
}

/** Where any path is routed, its first operation stands on `/docs` for all that nobody has described. */
function listTogether(others: readonly ListedOperation[]): readonly ListedOperation[] {
  const shown = others.find(({ path }) => path.endsWith(`{${restName}}`));
  if (shown === undefined) return others;
  const methods = [...new Set(others.map(({ method }) => method))].join(', ');
  return others.map((other) => {
    const listing = other === shown ? { summary: `Any other path: ${methods}` } : { 'x-listed-under': shown.path };
    return { ...other, operation: { ...other.operation, ...listing } };
  });
}

/** A client of any operation may ask for its answer later. */
function withAccepted(operation: Operation): Operation {
  const responses = (operation.responses ?? {}) as Record<string, Response>;
  return { ...operation, responses: { ...responses, 202: acceptedBeside(responses['202'] ?? responses['default']) } };
}

function anyBody(method: string): Pick<ListedOperation['operation'], 'requestBody'> {
  return ['POST', 'PUT', 'PATCH'].includes(method) ? { requestBody: { content: { '*/*': {} } } } : {};
}
