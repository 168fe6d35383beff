// Tests of the check that reports methods of a route for which no step authenticates the client.

import { expect, it } from 'vitest';
import { checkAuthentication } from '../../../gateway/configuration/check-authentication.ts';
import { FileProblems } from '../../../gateway/configuration/file-problems.ts';
import { YamlText } from '../../../gateway/configuration/yaml-text.ts';
import type { GatewayConfig, PipelineStep } from '../../../gateway/plugin-api/gateway-config-schema.ts';

import { type PolicyDeclaration, declarePolicy } from '../../../gateway/plugin-api/policy.ts';
import { Type } from 'typebox';

type Methods = GatewayConfig['apiEndpoints'][string]['methods'];

const workflow = declarePolicy({ name: 'workflow', schema: Type.Object({}), alwaysResponds: true });
const cors = declarePolicy({ name: 'cors', schema: Type.Object({}), alwaysResponds: true });
const declarations = new Map<string, PolicyDeclaration>([
  ['workflow', workflow],
  ['cors', cors],
]);

type Steps = readonly (readonly [policy: string, condition: PipelineStep['condition']])[];

/** Returns the problems of a pipeline whose `bearer` steps have these conditions. Undefined means no condition. */
function problemsOf(methods: Methods, conditions: readonly PipelineStep['condition'][]): readonly string[] {
  return problemsOfSteps(
    methods,
    conditions.map((condition) => ['bearer', condition] as const),
  );
}

function problemsOfSteps(methods: Methods, listed: Steps): readonly string[] {
  const problems = new FileProblems('gateway.config.yml', new YamlText(''));
  const steps = listed.map(([policy, condition], index) => ({
    ...{ policy, action: {}, condition },
    path: ['pipelines', 'books', 'policies', index],
  }));
  const endpoint = { paths: '/books', ...(methods === undefined ? {} : { methods }) };
  const unused = { pipeline: 'books', workflows: [], workflow: undefined };
  checkAuthentication({ name: 'books', endpoint, steps, ...unused }, declarations, problems);
  return problems.lines;
}

const onMethods = (...methods: string[]) => ({ name: 'method', methods });
const onHost = { name: 'hostMatch', pattern: 'books.example.org' };
const not = (condition: object) => ({ name: 'not', condition });
const oneOf = (...conditions: object[]) => ({ name: 'oneOf', conditions });

it.each<[string, Methods, readonly PipelineStep['condition'][]]>([
  ['no step', undefined, []],
  ['a step without a condition', undefined, [undefined]],
  ['a step without a condition after a step with a condition', undefined, [onMethods('GET'), undefined]],
  ['GET, which includes HEAD', ['GET'], [onMethods('GET')]],
  ['each method in one of the steps', ['GET', 'PUT'], [onMethods('PUT'), onMethods('GET')]],
  ['every method except DELETE, which the endpoint does not accept', ['GET', 'PUT'], [not(onMethods('DELETE'))]],
  ['a condition that depends on more than the method', undefined, [onHost]],
  ['a condition that may be met by any method', undefined, [oneOf(onMethods('GET'), onHost)]],
])('accepts %s', (_title, methods, conditions) => {
  expect(problemsOf(methods, conditions)).toEqual([]);
});

it.each<[string, Methods, readonly PipelineStep['condition'][]]>([
  ['OPTIONS', undefined, [onMethods('GET', 'POST', 'PUT', 'PATCH', 'DELETE')]],
  ['GET, HEAD', ['GET', 'PUT'], [onMethods('PUT')]],
  ['DELETE', ['GET', 'PUT', 'DELETE'], [onMethods('PUT'), onMethods('GET')]],
  ['GET', ['GET'], [onMethods('HEAD')]],
  ['GET, HEAD', ['GET', 'PUT'], [not(onMethods('GET'))]],
  ['PUT', ['GET', 'PUT'], [{ name: 'allOf', conditions: [onMethods('GET'), onHost] } as never]],
])('rejects %s without a step', (open, methods, conditions) => {
  expect(problemsOf(methods, conditions)).toEqual([
    `gateway.config.yml:1:1: pipelines.books.policies[0].condition: apiEndpoint "books" accepts ${open} without a token: for these methods, another step responds before any "bearer" step runs. Extend the conditions of the "bearer" steps, move these steps to the front, or list only the methods that need a token under "methods". Another apiEndpoint can serve the other methods, except OPTIONS, which cannot be listed`,
  ]);
});

it.each<[string, Methods, Steps]>([
  [
    'GET, HEAD',
    ['GET'],
    [
      ['workflow', undefined],
      ['bearer', undefined],
    ],
  ],
  [
    'GET, HEAD',
    ['GET', 'PUT'],
    [
      ['bearer', onMethods('PUT')],
      ['workflow', { name: 'always' }],
      ['bearer', undefined],
    ],
  ],
  [
    'PUT',
    ['GET', 'PUT'],
    [
      ['bearer', onMethods('GET')],
      ['workflow', undefined],
      ['bearer', undefined],
    ],
  ],
])('rejects %s when a step responds to every request before any "bearer" step', (open, methods, steps) => {
  expect(problemsOfSteps(methods, steps)).toEqual([
    expect.stringContaining(`apiEndpoint "books" accepts ${open} without a token`),
  ]);
});

it.each<[string, Methods, Steps]>([
  [
    'that responds after "bearer"',
    ['GET'],
    [
      ['bearer', undefined],
      ['workflow', undefined],
    ],
  ],
  [
    'that responds to other methods',
    ['GET'],
    [
      ['workflow', onMethods('PUT')],
      ['bearer', undefined],
    ],
  ],
  [
    'that responds to some requests',
    ['GET'],
    [
      ['workflow', onHost],
      ['bearer', undefined],
      ['workflow', undefined],
    ],
  ],
  [
    'that responds to public reads before "bearer"',
    ['GET', 'POST'],
    [
      ['workflow', onMethods('GET')],
      ['bearer', undefined],
      ['workflow', undefined],
    ],
  ],
  [
    'that responds to preflight requests before "bearer"',
    undefined,
    [
      ['cors', onMethods('OPTIONS')],
      ['bearer', undefined],
      ['workflow', undefined],
    ],
  ],
  ['that responds, without any "bearer" step', ['GET'], [['workflow', undefined]]],
])('accepts a step %s', (_title, methods, steps) => {
  expect(problemsOfSteps(methods, steps)).toEqual([]);
});
