// Tests of validating the conditions of pipeline steps, including nested ones.

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

/** Invalid conditions, and the text of the problem after the path of the condition. */
const invalid: readonly (readonly [Condition, string])[] = [
  [{ name: 'unknown' }, 'there is no condition "unknown"'],
  [{ name: 'toString' }, 'there is no condition "toString"'],
  [asynchronous, '"json-schema" is asynchronous: only synchronous conditions are supported'],
  [
    { name: 'authenticated' },
    '"authenticated" needs Passport, which the router does not use: the policy bearer authenticates clients',
  ],
  [
    { name: 'anonymous' },
    '"anonymous" needs Passport, which the router does not use: the policy bearer authenticates clients',
  ],
  [{ name: 'method' }, 'CONDITION_PARAMS_VALIDATION_FAILED'],
  [{ name: 'expression', expression: 'req.method ==' }, 'the expression cannot be compiled: Unexpected end of input'],
  [{ name: 'expression', expression: 'return true' }, 'the expression cannot be compiled: Illegal return statement'],
];

it.each([
  always,
  { name: 'method', methods: ['GET'] },
  { name: 'expression', expression: "req.method === 'GET' && unknown" },
  { name: 'allOf', conditions: [always, { name: 'not', condition: { name: 'never' } }] },
])('accepts $name', (condition) => {
  expect(problemsOf(condition)).toEqual([]);
});

it.each(invalid)('rejects %j, also within other conditions', (condition, problem) => {
  expect(problemsOf(condition)).toEqual([`condition: ${problem}`]);
  for (const name of ['allOf', 'oneOf'])
    expect(problemsOf({ name, conditions: [always, condition] })).toEqual([`condition.conditions[1]: ${problem}`]);
  expect(problemsOf({ name: 'not', condition: { name: 'not', condition } })).toEqual([
    `condition.condition.condition: ${problem}`,
  ]);
});

it.each([
  { name: 'allOf' },
  { name: 'oneOf', conditions: 'always' },
  { name: 'oneOf', conditions: [null] },
  { name: 'not', condition: {} },
])('rejects %j, whose nested conditions are malformed', (condition) => {
  expect(problemsOf(condition)).toEqual(['condition: CONDITION_PARAMS_VALIDATION_FAILED']);
});
