// Tests of finding the methods of a route for which no step authenticates the client.

import { expect, it } from 'vitest';
import { checkAuthentication } from '../../../gateway/configuration/check-authentication.ts';
import { FileProblems } from '../../../gateway/configuration/file-problems.ts';
import { YamlText } from '../../../gateway/configuration/yaml-text.ts';
import type { GatewayConfig, PipelineStep } from '../../../gateway/plugin-api/gateway-config-schema.ts';

type Methods = GatewayConfig['apiEndpoints'][string]['methods'];

/** Returns the problems of a pipeline whose `bearer` steps have these conditions; undefined: without a condition. */
function problemsOf(methods: Methods, conditions: readonly PipelineStep['condition'][]): readonly string[] {
  const problems = new FileProblems('gateway.config.yml', new YamlText(''));
  const steps = conditions.map((condition, index) => ({
    ...{ policy: 'bearer', action: {}, condition },
    path: ['pipelines', 'books', 'policies', index],
  }));
  const endpoint = { paths: '/books', ...(methods === undefined ? {} : { methods }) };
  const unused = { pipeline: 'books', workflows: [], workflow: undefined };
  checkAuthentication({ name: 'books', endpoint, steps, ...unused }, problems);
  return problems.lines;
}

const onMethods = (...methods: string[]) => ({ name: 'method', methods });
const onHost = { name: 'hostMatch', pattern: 'books.example.org' };
const not = (condition: object) => ({ name: 'not', condition });
const oneOf = (...conditions: object[]) => ({ name: 'oneOf', conditions });

it.each<[string, Methods, readonly PipelineStep['condition'][]]>([
  ['no step', undefined, []],
  ['a step without a condition', undefined, [undefined]],
  ['a step without a condition after one with a condition', undefined, [onMethods('GET'), undefined]],
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
    `gateway.config.yml:1:1: pipelines.books.policies[0].condition: apiEndpoint "books" accepts ${open} without a token, because the conditions of its "bearer" steps do not cover these methods: extend the conditions, or limit the "methods" of the apiEndpoint to those that need a token; another apiEndpoint can serve the others, except OPTIONS`,
  ]);
});
