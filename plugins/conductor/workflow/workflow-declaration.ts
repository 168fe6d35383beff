// The declaration of the policy `workflow`: its parameters in gateway.config.yml, their checks, and its OpenAPI
// description.

import { longestMs } from '#lib/config/key-types.ts';
import { type Static, Type } from '#lib/json/json-schema.ts';
import { notRoutedBelow, readBackEndDescription } from '#lib/openapi/back-end-description.ts';
import { mistakesIn } from '#lib/openapi/check-description.ts';
import { commonHeaders } from '#lib/openapi/headers.ts';
import type { Components } from '#lib/openapi/openapi.ts';
import { problemSchemas } from '#lib/openapi/problem-responses.ts';
import { templateOf } from '#lib/openapi/templates.ts';
import { readPinnedVersions } from '#lib/conductor/definitions/pinned-versions.ts';
import { declarePolicy, type ParameterProblem, type PolicyContext } from '../../../gateway/plugin-api/plugin-api.ts';
import type { GatewayRoute } from '../../../gateway/plugin-api/gateway-routes.ts';
import { executionComponents } from '../async-executions/describe-async.ts';
import { compressParameter } from '../execution/compress-response.ts';
import { linkProblems } from '../execution/links.ts';
import { describeWorkflow } from './describe-workflow.ts';
import type { WorkflowRoute } from '../versions/create-versions.ts';
import { describeVersions } from '../versions/describe-versions.ts';
import { guardOf, pinnedVersionsOf, versionGuard } from '../versions/parameters.ts';

const parameters = Type.Object(
  {
    name: Type.String({ minLength: 1, description: 'name of the workflow definition' }),
    version: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'version of the workflow that is started; either `version` or `versions` is required',
      }),
    ),
    versions: Type.Optional(
      Type.Unknown({
        title: 'map of version to share',
        description: 'several versions, each with its share of the clients relative to the sum of all shares',
      }),
    ),
    versionGuard,
    strip: Type.String({
      pattern: '^(/[^/]+)+$',
      description: 'leading segments of the public path that are not sent to the back end',
    }),
    domainOf: Type.Optional(
      Type.String({ description: 'path parameter whose value selects the task domain, `adaptor.<value>.domain`' }),
    ),
    admission: Type.Optional(
      Type.Object(
        {
          backEndOf: Type.Optional(
            Type.String({
              description:
                'path parameter whose values are separate back ends, each with its own share of the admission limits and its own circuit breaker; default: `domainOf`',
            }),
          ),
        },
        { additionalProperties: false, description: 'settings of admission control, which every route has' },
      ),
    ),
    compress: compressParameter,
    openapi: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'file that describes the operations of the back end, for the OpenAPI document of the router',
      }),
    ),
    responseDeadlineMs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: longestMs,
        description: 'response deadline of the route; default: `router.responseDeadlineMs` (milliseconds)',
      }),
    ),
    waitBudgetMs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: longestMs,
        deprecated: true,
        description: 'deprecated name of `responseDeadlineMs`',
      }),
    ),
    idempotencyKey: Type.Optional(
      Type.Enum(['optional', 'required'], {
        default: 'optional',
        description: 'whether every method but GET, HEAD and OPTIONS requires an `Idempotency-Key`',
      }),
    ),
  },
  {
    additionalProperties: false,
    description:
      'Runs each request as one execution of a workflow and responds with its output. Every request passes through admission control before its execution starts.',
    examples: [
      { name: 'moviesWF', version: 1, strip: '/movies', openapi: 'config/openapi/movies.yml', compress: false },
      {
        name: 'college-adaptorWF',
        versions: { 1: 10, 2: 90 },
        versionGuard: { failurePercent: 20, windowMs: 60_000, minRequests: 20 },
        strip: '/adaptor/:mis',
        domainOf: 'mis',
        admission: { backEndOf: 'mis' },
        compress: { overBytes: 4_096 },
        responseDeadlineMs: 20_000,
        idempotencyKey: 'required',
      },
    ],
  },
);

type Parameters = Static<typeof parameters>;
type DeadlineParameters = Pick<Parameters, 'responseDeadlineMs' | 'waitBudgetMs'>;

/** Name, parameters, checks and description of the policy. */
export const workflowDeclaration = declarePolicy({
  name: 'workflow',
  schema: parameters,
  alwaysResponds: true,
  check: (given, place) => [
    ...readPinnedVersions(given).problems.map((message) => ({ message })),
    ...deadlineProblems(given),
    ...linkProblems(place).map((message) => ({ message })),
    ...describeProblems(given, place),
  ],
  limits: (_given, config) => ({
    maxBodyBytes: config['router.maxBodyBytes'],
    maxResponseBytes: config['router.maxResponseBytes'],
  }),
  describe: (given, { config, rootDir }) => {
    const versions = describeVersions(pinnedVersionsOf(given), config['router.versionScope']);
    const { openapi } = given;
    return describeWorkflow(
      { ...given, compresses: given.compress !== false },
      versions,
      openapi === undefined ? undefined : readBackEndDescription(openapi, rootDir),
    );
  },
});

/** Returns the path parameter that selects the back end of a route; undefined when the route has one back end. */
export function backEndOf({ admission, domainOf }: Parameters): string | undefined {
  return admission?.backEndOf ?? domainOf;
}

/** Returns the response deadline of a route in milliseconds; undefined when it has the default. */
export function responseDeadlineOf({ responseDeadlineMs, waitBudgetMs }: DeadlineParameters): number | undefined {
  return responseDeadlineMs ?? waitBudgetMs;
}

function deadlineProblems({ responseDeadlineMs, waitBudgetMs }: DeadlineParameters): ParameterProblem[] {
  if (responseDeadlineMs === undefined || waitBudgetMs === undefined) return [];
  return [
    {
      message: 'waitBudgetMs is the deprecated name of responseDeadlineMs: keep one of them',
      parameter: 'waitBudgetMs',
    },
  ];
}

/** Returns every step with this policy in a valid gateway configuration, keyed by the step's parameters. */
export function workflowStepsOf(routes: readonly GatewayRoute[]): ReadonlyMap<Parameters, WorkflowRoute> {
  const steps = routes.flatMap((route) => route.steps.filter(({ policy }) => policy === 'workflow'));
  return new Map(
    steps.map(({ action }) => {
      const given = action as Parameters;
      const { name: workflow, strip: prefix } = given;
      return [given, { workflow, prefix, pinned: pinnedVersionsOf(given), guard: guardOf(given) }] as const;
    }),
  );
}

/** The components of the router's document to which the description of a back end may refer. */
const ownComponents: Components = {
  schemas: { ...problemSchemas(), ...executionComponents.schemas },
  headers: commonHeaders,
};

/**
 * Reports paths that OpenAPI cannot express, and back-end descriptions that are unreadable, contain mistakes or have
 * paths that are not routed.
 */
function describeProblems({ openapi, strip }: Parameters, { endpoints, rootDir }: PolicyContext): ParameterProblem[] {
  let parameter = 'strip';
  try {
    const prefix = templateOf(strip);
    if (openapi === undefined) return [];
    parameter = 'openapi';
    const description = readBackEndDescription(openapi, rootDir);
    return [
      ...mistakesIn(description.content, ownComponents).map((mistake) => `${openapi}: ${mistake}`),
      ...endpoints.flatMap((endpoint) => notRoutedBelow(description, prefix, endpoint)),
    ].map((message) => ({ message, parameter }));
  } catch (error) {
    return [{ message: (error as Error).message, parameter }];
  }
}
