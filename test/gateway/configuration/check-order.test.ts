// Tests of the check for the order of the steps of a pipeline.

import { Type } from 'typebox';
import { expect, it } from 'vitest';
import { checkOrder } from '../../../gateway/configuration/check-order.ts';
import { FileProblems } from '../../../gateway/configuration/file-problems.ts';
import { YamlText } from '../../../gateway/configuration/yaml-text.ts';
import type { PipelineStep } from '../../../gateway/plugin-api/gateway-config-schema.ts';
import { declarePolicy } from '../../../gateway/plugin-api/policy.ts';

const schema = Type.Object({});
const declarations = new Map(
  [
    declarePolicy({ name: 'bearer', schema }),
    declarePolicy({ name: 'rate-limit', schema }),
    declarePolicy({ name: 'mis-codes', schema, needsClient: true }),
    declarePolicy({ name: 'workflow', schema, alwaysResponds: true }),
    declarePolicy({ name: 'executions', schema, alwaysResponds: true, needsClient: true }),
  ].map((declaration) => [declaration.name, declaration] as const),
);

type Condition = NonNullable<PipelineStep['condition']>;
const onHost = { name: 'hostMatch', pattern: 'books.example.org' } as Condition;
const onGet = { name: 'method', methods: ['GET'] } as Condition;

/** Returns the problems of a pipeline with these steps, each a policy or a policy with its condition. */
function problemsOf(...steps: readonly (string | readonly [policy: string, condition: Condition])[]) {
  const problems = new FileProblems('gateway.config.yml', new YamlText(''));
  const listed = steps.map((step, index): PipelineStep => {
    const [policy, condition] = typeof step === 'string' ? [step, undefined] : step;
    return { policy, condition, action: {}, path: [index] };
  });
  checkOrder(listed, declarations, problems);
  return problems.lines.map((line) => line.replace('gateway.config.yml:1:1: ', ''));
}

it.each([
  [['bearer', 'rate-limit', 'mis-codes', 'workflow']],
  [['rate-limit', 'bearer', 'workflow']],
  [['mis-codes', 'workflow']],
  [['bearer', ['workflow', onHost], 'workflow']],
  [['bearer', ['workflow', onGet], 'mis-codes', 'executions']],
  [[['workflow', onHost], 'bearer', 'workflow']],
  [[['mis-codes', onHost], ['bearer', onGet], 'workflow']],
  [[['mis-codes', { name: 'never' }], 'bearer', 'workflow', ['mis-codes', { name: 'never' }]]],
  [['mis-codes', ['bearer', { name: 'never' }], 'workflow']],
  [['bearer', 'unknown']],
] as const)('accepts %j', (steps) => {
  expect(problemsOf(...steps)).toEqual([]);
});

const never = (policy: string) =>
  `this step never runs, because the earlier step "${policy}" responds to every request: move this step before "${policy}", or remove it`;

it('reports each step after one that responds to every request', () => {
  expect(problemsOf('rate-limit', 'workflow', 'bearer', 'mis-codes', 'executions')).toEqual([
    `[2]: ${never('workflow')}`,
    `[3]: ${never('workflow')}`,
    `[4]: ${never('workflow')}`,
  ]);
});

it('treats a condition that every request meets like no condition', () => {
  expect(problemsOf('bearer', ['workflow', { name: 'always' }], 'executions')).toEqual([`[2]: ${never('workflow')}`]);
});

const early = (policy: string) =>
  `"${policy}" needs the client, which "bearer" identifies: move this step after "bearer"`;

it('reports an unconditional step that needs the client before the first "bearer" step, even a conditional one', () => {
  expect(problemsOf('mis-codes', ['bearer', onGet], 'workflow')).toEqual([`[0]: ${early('mis-codes')}`]);
});

it('reports every step that needs the client before an unconditional first "bearer" step', () => {
  expect(problemsOf('mis-codes', ['executions', onGet], 'bearer', 'mis-codes', 'bearer', 'workflow')).toEqual([
    `[0]: ${early('mis-codes')}`,
    `[1]: ${early('executions')}`,
  ]);
});
