// Tests of the validation of conditions of pipeline steps, including nested conditions.

import { expect, it } from 'vitest';
import { checkCondition } from '../../../gateway/configuration/check-steps.ts';
import { FileProblems } from '../../../gateway/configuration/file-problems.ts';
import { YamlText } from '../../../gateway/configuration/yaml-text.ts';

interface Condition {
  readonly name: string;
  readonly [parameter: string]: unknown;
}

function problemsOf(condition: Condition): readonly string[] {
  const problems = new FileProblems('gateway.config.yml', new YamlText(''));
  checkCondition({ policy: 'note', action: {}, condition, path: [] }, problems);
  return problems.lines.map((line) => line.replace('gateway.config.yml:1:1: ', ''));
}

const always = { name: 'always' };
const asynchronous = { name: 'json-schema', schema: {}, logErrors: false };

/** Invalid conditions, each with the text of its problem, which follows the path of the condition. */
const invalid: readonly (readonly [Condition, string])[] = [
  [{ name: 'unknown' }, 'there is no condition "unknown"'],
  [{ name: 'toString' }, 'there is no condition "toString"'],
  [asynchronous, '"json-schema" is asynchronous: only synchronous conditions are supported'],
  [
    { name: 'authenticated' },
    '"authenticated" needs Passport, which the router does not use: use the policy "bearer" to authenticate clients',
  ],
  [
    { name: 'anonymous' },
    '"anonymous" needs Passport, which the router does not use: use the policy "bearer" to authenticate clients',
  ],
  [{ name: 'method' }, '"methods" is missing'],
  [{ name: 'expression', expression: 'req.method ==' }, 'the expression cannot be compiled: Unexpected end of input'],
  [{ name: 'expression', expression: 'return true' }, 'the expression cannot be compiled: Illegal return statement'],
];

it.each([
  always,
  { name: 'method', methods: ['GET'] },
  { name: 'method', methods: 'GET' },
  { name: 'pathMatch', pattern: '^/movies/' },
  { name: 'expression', expression: "req.method === 'GET' && unknown" },
  { name: 'allOf', conditions: [always, { name: 'not', condition: { name: 'never' } }] },
])('accepts $name', (condition) => {
  expect(problemsOf(condition)).toEqual([]);
});

it.each(invalid)('rejects %j, even within other conditions', (condition, problem) => {
  expect(problemsOf(condition)).toEqual([`condition: ${problem}`]);
  for (const name of ['allOf', 'oneOf'])
    expect(problemsOf({ name, conditions: [always, condition] })).toEqual([`condition.conditions[1]: ${problem}`]);
  expect(problemsOf({ name: 'not', condition: { name: 'not', condition } })).toEqual([
    `condition.condition.condition: ${problem}`,
  ]);
});

const allowed = 'GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS';

it.each<[Condition, string]>([
  [{ name: 'allOf' }, 'condition: "conditions" is missing'],
  [{ name: 'oneOf', conditions: 'always' }, 'condition.conditions: must be an array'],
  [{ name: 'oneOf', conditions: [null] }, 'condition.conditions[0]: must be an object'],
  [{ name: 'not', condition: {} }, 'condition.condition: "name" is missing'],
  [
    { name: 'not', condition: { name: 'method', methods: ['GET', 'get'] } },
    `condition.condition.methods[1]: must be one of ${allowed}`,
  ],
  [{ name: 'pathMatch', pattern: '(' }, 'condition.pattern: must match format "regex"'],
  [{ name: 'method', methods: 'get' }, `condition.methods: must be one of ${allowed}`],
])('rejects %j and names the parameter', (condition, problem) => {
  expect(problemsOf(condition)).toEqual([problem]);
});
